//! Reads `--target-image`: the images of targets.

use std::collections::BTreeMap;

use crate::failure::{Exit, Failure};
use crate::lab::{Home, TargetSpec};
use crate::scenario::Backend;

/// Images of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Images {
    /// Image that the lab's targets in Python share.
    shared: Option<String>,
    /// Images of other targets, by name.
    of_targets: BTreeMap<String, String>,
    /// Whether the targets are those of a user's own project, which share no image.
    own: bool,
}

impl Images {
    /// Reads the images for these targets of a project.
    ///
    /// # Errors
    /// If an image is given twice, or is of no target.
    pub fn read<'a>(
        words: &[String],
        home: &Home,
        targets: impl Iterator<Item = &'a TargetSpec> + Clone,
    ) -> Result<Self, Failure> {
        let mut images = Self { own: home.is_own(), ..Self::default() };
        for word in words {
            let (target, image) = match word.split_once('=') {
                Some((target, image)) => (Some(target.trim()), image.trim()),
                None => (None, word.trim()),
            };
            if image.is_empty() {
                let message = format!("--target-image {word}: expected IMAGE or NAME=IMAGE");
                let help = "name an image as nodes pull it: registry.example/targets:1";
                return Err(Failure::message(Exit::Usage, "bad_target_image", message, help));
            }
            let mut known = targets.clone();
            let (before, is_of_any) = match target {
                None => {
                    let is_of_any = known.any(|target| images.are_shared_by(target));
                    (images.shared.replace(image.to_owned()), is_of_any)
                }
                Some(name) => {
                    let is_of_any = known.any(|target| target.name == name);
                    let before = images.of_targets.insert(name.to_owned(), image.to_owned());
                    (before, is_of_any)
                }
            };
            if before.is_some() {
                let message = format!("--target-image: {word} is the second image of the same");
                return Err(Failure::message(Exit::Usage, "named_twice", message, "name one"));
            }
            if !is_of_any {
                let what = match target {
                    Some(name) => format!("{name} is not measured here"),
                    None => "none of the lab's targets in Python is measured here".to_owned(),
                };
                let message = format!("--target-image {word}: {what}");
                let help = "leave it out, or name a target of this command: NAME=IMAGE";
                return Err(Failure::message(Exit::Usage, "unused_option", message, help));
            }
        }
        Ok(images)
    }

    /// Returns the target as it runs in its image, if it has one, under a scenario with these backends.
    pub fn put(&self, mut target: TargetSpec, backends: &[Backend]) -> TargetSpec {
        let shared = self.shared.as_ref().filter(|_| self.are_shared_by(&target));
        let Some(image) = self.of_targets.get(&target.name).or(shared) else { return target };
        if !self.own {
            return target.in_image(image, backends);
        }
        target.entry.image = Some(image.clone());
        target
    }

    fn are_shared_by(&self, target: &TargetSpec) -> bool {
        !self.own && target.shares_image()
    }
}
