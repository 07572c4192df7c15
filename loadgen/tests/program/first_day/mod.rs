//! The first day with loadgen: ten tasks of somebody with a web service of their own, each in an
//! empty folder with one of the applications of `tests/apps`, and in at most three commands that the
//! README or `--help` names.

mod dying;
mod folder;
mod journey;
mod openapi;
mod own_targets;
mod recorded;
mod urls;
