//! Drives the machines.
