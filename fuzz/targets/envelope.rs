//! Target `envelope`: under cargo-fuzz it runs for ever, otherwise it runs the files that it is given.
#![cfg_attr(fuzzing, no_main)]

sans_mcp_fuzz::target!(sans_mcp_fuzz::envelope::run);
