//! Draws a bar chart with a bar for each second. A bar has two parts: full below, shaded above.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Characters that fill a cell of the terminal from below, from one eighth to the whole cell.
const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const SHADE: &str = "░";

/// Mark between the bars of two rounds, over the whole height.
const MARK: &str = "│";

/// Height of the full part of a bar, which is the lower part, and height of the whole bar. `None` is
/// a mark between the bars of two rounds.
pub(super) type Bar = Option<(u64, u64)>;

/// Draws bars side by side, the last at the right; bars that do not fit are left out. The highest
/// bar fills the height.
pub(super) fn draw(bars: &[Bar], styles: (Style, Style), area: Rect, buffer: &mut Buffer) {
    let most = highest(bars).max(1);
    let columns = (0..area.width).rev().map(|column| area.x + column);
    for (x, bar) in columns.zip(bars.iter().rev()) {
        let Some((full, all)) = bar else {
            for y in area.y..area.bottom() {
                buffer.cell_mut((x, y)).map(|cell| cell.set_symbol(MARK));
            }
            continue;
        };
        let full = eighths(*full, most, area.height);
        let all = eighths(*all, most, area.height).max(full);
        for row in 0..area.height {
            let below = u32::from(row) * 8;
            let (symbol, style) = match (full.saturating_sub(below), all.saturating_sub(below)) {
                (0, 0) => continue,
                (0, _) => (SHADE, styles.1),
                (n, _) => (EIGHTHS[n.min(8) as usize - 1], styles.0),
            };
            if let Some(cell) = buffer.cell_mut((x, area.bottom() - 1 - row)) {
                cell.set_symbol(symbol).set_style(style);
            }
        }
    }
}

/// Returns the height of the highest bar.
pub(super) fn highest(bars: &[Bar]) -> u64 {
    bars.iter().flatten().map(|(full, all)| *full.max(all)).max().unwrap_or(0)
}

/// Converts a value to eighths of a cell, so that `most` fills all `height` cells. Returns at least
/// 1 for a value above 0, so that the value stays visible.
fn eighths(value: u64, most: u64, height: u16) -> u32 {
    let all = f64::from(height) * 8.0;
    let share = value as f64 / most as f64;
    let eighths = (share * all).round().min(all) as u32;
    if value > 0 { eighths.max(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(bars: &[(u64, u64)], width: u16, height: u16) -> Vec<String> {
        let bars: Vec<Bar> = bars.iter().map(|bar| (*bar != GAP).then_some(*bar)).collect();
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        draw(&bars, Default::default(), area, &mut buffer);
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect();
        (0..height).map(row).collect()
    }

    #[test]
    fn the_newest_bar_is_rightmost_and_the_highest_fills_the_height() {
        assert_eq!(drawn(&[(9, 9), (4, 4), (8, 8)], 4, 2), [" █ ▆", " █▇█"]);
        assert_eq!(drawn(&[(8, 8), (4, 4), (8, 8)], 2, 1), ["▄█"]);
        assert_eq!(drawn(&[(0, 0)], 2, 1), ["  "]);
        assert_eq!(drawn(&[], 0, 0), [""; 0]);
    }

    /// Stands for a mark.
    const GAP: (u64, u64) = (77, 77);

    #[test]
    fn a_mark_separates_the_bars_of_two_rounds() {
        assert_eq!(drawn(&[(4, 4), GAP, (2, 2)], 3, 2), ["█│ ", "█│█"]);
    }

    #[test]
    fn the_part_above_is_shaded_and_small_values_stay_visible() {
        assert_eq!(drawn(&[(1, 4), (0, 1), (1, 1_000)], 3, 2), ["  ░", "▁░▁"]);
        assert_eq!(drawn(&[(0, 8), (4, 8), (1, 8)], 3, 2), ["░░░", "░█▂"]);
    }
}
