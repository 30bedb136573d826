//! What the drivers need from the system.
