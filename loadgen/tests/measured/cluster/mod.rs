//! Workers in real processes, a server that counts, and the promises of the cluster between them.

mod ends;
mod joining;
mod loss;
mod rounds;
mod support;
