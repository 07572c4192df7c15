//! The rows of PostgreSQL's tables before a round.
//!
//! loadgen makes the rows of `items` once, in a database that no target uses, and copies that
//! database for each round. A copy takes the files as they are, so every round starts with the same
//! pages and indexes. Targets only read the table `profiles`, so its rows are made once and stay.

use std::time::Duration;

use super::Postgres;
use super::client::{NAME, STATEMENT_TIMEOUT};
use crate::lab::LabError;
use crate::lab::backends::profiles;
use crate::scenario::Existing;
use crate::text::count;

/// Time limit for a copy of a user's own database.
const LONGEST_COPY: Duration = Duration::from_secs(600);

/// Time limit for making a million rows, which takes some seconds on most machines.
const PER_MILLION: Duration = Duration::from_secs(120);

impl Postgres {
    /// Resets the tables to these numbers of rows, and forces a checkpoint so that no round has to
    /// write an earlier round's data to disk. No other session may use the database. `progress` is
    /// told before a slow step.
    pub(in crate::lab::backends) async fn fill(
        &self,
        existing: Existing,
        progress: &dyn Fn(&str),
    ) -> Result<(), LabError> {
        let Existing { items, profiles } = existing;
        self.fill_profiles(profiles, progress).await?;
        if items == 0 {
            self.tell(NAME, &["-c", "TRUNCATE items RESTART IDENTITY", "-c", "CHECKPOINT"]).await?;
            return Ok(());
        }
        let template = format!("items_{items}_profiles_{profiles}");
        let exists = format!("SELECT count(*) FROM pg_database WHERE datname = '{template}'");
        if self.tell("postgres", &["-c", &exists]).await?.trim() == "0" {
            progress(&format!("making {} rows of the table items", count(items)));
            self.make_items(items, &template).await?;
        }
        let drop = format!("DROP DATABASE {NAME} WITH (FORCE)");
        let copy = format!("CREATE DATABASE {NAME} TEMPLATE {template} STRATEGY file_copy");
        let made = ["-c", &drop, "-c", &copy, "-c", "CHECKPOINT"];
        self.tell_within(limit(items + profiles), "postgres", &made).await?;
        Ok(())
    }

    /// Restores the database to what it was after the start, from a copy that no target uses. No other
    /// session may use the database.
    pub(in crate::lab::backends) async fn restore(&self) -> Result<(), LabError> {
        const COPY: &str = "at_the_start";
        let exists = format!("SELECT count(*) FROM pg_database WHERE datname = '{COPY}'");
        let is_new = self.tell("postgres", &["-c", &exists]).await?.trim() == "0";
        let version = self.tell("postgres", &["-c", "SHOW server_version_num"]).await?;
        // PostgreSQL has strategies from version 15 on; before, it always copied files.
        let how = if version.trim() < "150000" { "" } else { " STRATEGY file_copy" };
        let keep = is_new.then(|| format!("CREATE DATABASE {COPY} TEMPLATE {NAME}{how}"));
        let again = [
            format!("DROP DATABASE {NAME} WITH (FORCE)"),
            format!("CREATE DATABASE {NAME} TEMPLATE {COPY}{how}"),
            "CHECKPOINT".to_owned(),
        ];
        let all: Vec<String> = keep.into_iter().chain(again).collect();
        let told: Vec<&str> = all.iter().flat_map(|sql| ["-c", sql.as_str()]).collect();
        self.tell_within(LONGEST_COPY, "postgres", &told).await.map(drop)
    }

    /// Makes this number of profiles, unless the table has them. The table's comment has the number,
    /// once all profiles are there.
    async fn fill_profiles(&self, wanted: u64, progress: &dyn Fn(&str)) -> Result<(), LabError> {
        let ask = "SELECT coalesce(obj_description('profiles'::regclass), '0')";
        if self.tell(NAME, &["-c", ask]).await?.trim() == wanted.to_string() {
            return Ok(());
        }
        progress(&format!("making {} profiles in postgres", count(wanted)));
        self.tell_within(limit(wanted), NAME, &each(&make_profiles(wanted))).await?;
        Ok(())
    }

    /// Creates the database `template`, whose table `items` has this number of rows.
    async fn make_items(&self, rows: u64, template: &str) -> Result<(), LabError> {
        // The database gets its name when it is complete.
        let unfinished = format!("{template}_unfinished");
        let drop = format!("DROP DATABASE IF EXISTS {unfinished}");
        let create = format!("CREATE DATABASE {unfinished} TEMPLATE {NAME}");
        self.tell("postgres", &["-c", &drop, "-c", &create]).await?;
        self.tell_within(limit(rows), &unfinished, &each(&make_items(rows))).await?;
        let rename = format!("ALTER DATABASE {unfinished} RENAME TO {template}");
        self.tell("postgres", &["-c", &rename]).await?;
        Ok(())
    }
}

/// Returns the script that gives a new database the tables of the `schema`, with these numbers of rows.
pub(in crate::lab::backends) fn script(
    schema: &str,
    Existing { items, profiles }: Existing,
) -> String {
    let profiles = if profiles > 0 { make_profiles(profiles) } else { Vec::new() };
    let items = if items > 0 { make_items(items) } else { Vec::new() };
    let all = profiles.into_iter().chain(items).chain(["CHECKPOINT".to_owned()]);
    let all: String = all.map(|statement| format!("{statement};\n")).collect();
    format!("{schema}\n{all}")
}

/// Returns the statements that make this number of profiles.
fn make_profiles(wanted: u64) -> Vec<String> {
    vec![
        "TRUNCATE profiles".to_owned(),
        profiles::insert(wanted),
        "VACUUM (ANALYZE, FREEZE) profiles".to_owned(),
        format!("COMMENT ON TABLE profiles IS '{wanted}'"),
    ]
}

/// Returns the statements that make this number of items.
fn make_items(rows: u64) -> Vec<String> {
    vec![
        "TRUNCATE items RESTART IDENTITY".to_owned(),
        // An MD5 sum is as random as the keys of new rows, but the same in each run.
        format!(
            "INSERT INTO items (sku, name, quantity, price_cents) \
             SELECT md5(n::text)::uuid, 'item ' || n, n % 100 + 1, n % 99950 + 50 \
             FROM generate_series(1, {rows}) AS n"
        ),
        // Otherwise PostgreSQL would do both in the background, during a round.
        "VACUUM (ANALYZE, FREEZE) items".to_owned(),
    ]
}

/// Returns the arguments of psql that carry out these statements.
fn each(statements: &[String]) -> Vec<&str> {
    statements.iter().flat_map(|statement| ["-c", statement.as_str()]).collect()
}

/// Time limit for making or copying this number of rows.
fn limit(rows: u64) -> Duration {
    let millions = u32::try_from(rows.div_ceil(1_000_000)).unwrap_or(u32::MAX);
    STATEMENT_TIMEOUT + PER_MILLION.saturating_mul(millions)
}
