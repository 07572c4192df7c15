//! Tests the cluster's promises with workers in real processes and a server that counts.

mod ends;
mod joining;
mod loss;
mod rounds;
mod support;
