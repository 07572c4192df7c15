//! Gives all rounds the same data in the backends.

use std::path::PathBuf;

use crate::lab::Lab;
use crate::lab::error::LabError;
use crate::lab::manifest::{Fill, Init};
use crate::lab::service::logs::MESSAGE_LINES;
use crate::lab::service::{Service, ServiceSpec};
use crate::scenario::{Backend, Existing};

impl Lab {
    /// Resets the data of the running backends, so that every round starts with the same data.
    /// They then hold the `existing` items and profiles.
    pub async fn fill(&self, existing: Existing) -> Result<(), LabError> {
        if self.home.is_own() {
            return self.fill_for_own(existing).await;
        }
        if let Some(redis) = &self.redis {
            redis.fill(existing.profiles, &*self.progress).await?;
        }
        if let Some(postgres) = &self.postgres {
            postgres.fill(existing, &*self.progress).await?;
        }
        Ok(())
    }

    /// Like [`Lab::fill`], but with what the user's files put into the backends.
    async fn fill_for_own(&self, existing: Existing) -> Result<(), LabError> {
        refuse_existing(existing)?;
        if let Some(redis) = &self.redis {
            let init = &self.manifest.inits.redis;
            redis.restore(self.init_file(init).as_deref()).await?;
            if let Some(fill) = &init.fill {
                self.fill_by(Backend::Redis, fill, &redis.url()).await?;
            }
        }
        if let Some(postgres) = &self.postgres {
            postgres.restore().await?;
        }
        Ok(())
    }

    /// Returns the path of the file that fills a backend for the user's own targets.
    pub(super) fn init_file(&self, init: &Init) -> Option<PathBuf> {
        init.file.as_ref().map(|file| self.home.root().join(file))
    }

    /// Runs the user's command that fills a backend at this URL.
    pub(super) async fn fill_by(
        &self,
        backend: Backend,
        fill: &Fill,
        url: &str,
    ) -> Result<(), LabError> {
        (self.progress)(&format!("filling {backend}"));
        let log = self.options.logs.join(format!("{backend}-fill.log"));
        let own = fill
            .env
            .iter()
            .map(|(name, value)| (name.clone(), value.replace(&format!("{{{backend}}}"), url)));
        let all = [(backend.url_variable().to_owned(), url.to_owned())].into_iter().chain(own);
        let env = self.runner.user_variables().into_iter().chain(all).collect();
        let (name, root) = (format!("{backend}-fill"), self.home.root());
        let spec = ServiceSpec { env, ..ServiceSpec::new(name, &fill.command, root, log.clone()) };
        let done = Service::carry_out(&spec, MESSAGE_LINES).await?;
        done.map_err(|output| LabError::Fill { backend, output, log })
    }
}

/// Refuses data of the lab's own targets for those of a user.
pub(super) fn refuse_existing(existing: Existing) -> Result<(), LabError> {
    if existing == Existing::default() {
        return Ok(());
    }
    Err(LabError::Missing {
        service: "backends".to_owned(),
        what: "`existing_items` and `existing_profiles` are data of the lab's own targets"
            .to_owned(),
        help: "fill the backend in loadgen.toml: [backend.postgres] init = \"FILE\"".to_owned(),
    })
}
