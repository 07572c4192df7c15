//! Tests the reports that people read, made from records built by hand.

mod capacity;
mod compared;
mod containers;
mod duets;
mod experiment;
mod foreign;
mod formats;
mod html;
mod latencies;
mod probe;
mod profile;
mod published;
mod records;
mod run;
mod screen;
mod shown;
mod slices;
mod stages;
mod streams;
mod traces;
