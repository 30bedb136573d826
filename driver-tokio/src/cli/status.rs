//! How the command ends: one place for every exit status.

use std::process::ExitCode;

use sans_mcp::{Cause, End, Failure, FailureKind, Refusal};

/// What the exit status of the command tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Fine = 0,
    Reported = 1,
    Usage = 2,
    Connect = 3,
    Remote = 4,
    Timeout = 5,
    Died = 6,
    Protocol = 7,
    HungUp = 129,
    Interrupted = 130,
    Terminated = 143,
}

impl Status {
    /// Every status with what it means, for `--help`.
    pub(super) const HELP: &str = "\
Exit status:
    0  fine
    1  the tool reported an error, or the result could not be written
    2  usage: an option, an argument or a line of a script is wrong
    3  the server could not be started or connected to
    4  the server answered with an error, or does not offer what was asked for
    5  no answer in time
    6  the server exited, or closed its input or output
    7  the server broke the protocol or a limit
  129  hung up (SIGHUP); the server was closed first
  130  interrupted (SIGINT); the server was closed first
  143  terminated (SIGTERM); the server was closed first";

    pub(super) fn of_failure(failure: &Failure) -> Status {
        match failure.kind() {
            FailureKind::Timeout(_) => Status::Timeout,
            FailureKind::Remote(_) => Status::Remote,
            FailureKind::UnknownTool | FailureKind::InvalidArguments(_) => Status::Usage,
            FailureKind::StdinClosed => Status::Died,
            FailureKind::Ended(cause) => Status::of_cause(cause),
            FailureKind::Cancelled(_) => Status::Interrupted,
            // An answer that is no answer, in one way or another.
            _ => Status::Protocol,
        }
    }

    pub(super) fn of_refusal(refusal: &Refusal) -> Status {
        match refusal {
            Refusal::NotOffered(_) => Status::Remote,
            Refusal::StdinClosed | Refusal::Closed(_) => Status::Died,
            _ => Status::Usage,
        }
    }

    /// The status of a session that ended although nobody closed it.
    pub(super) fn of_cause(cause: &Cause) -> Status {
        match cause {
            Cause::Closed => Status::Fine,
            Cause::Peer(_) => Status::Protocol,
            Cause::Unhealthy(_) => Status::Timeout,
            Cause::Exited(_) | Cause::OutputEnded => Status::Died,
            // Starting, shaking hands, or neither.
            _ => Status::Connect,
        }
    }

    pub(super) fn of_end(end: &End) -> Status {
        Status::of_cause(&end.cause)
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sans_mcp::{Exit, StartFailure};

    #[test]
    fn every_status_is_explained() {
        let told: Vec<u8> =
            Status::HELP.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        let all = [
            Status::Fine,
            Status::Reported,
            Status::Usage,
            Status::Connect,
            Status::Remote,
            Status::Timeout,
            Status::Died,
            Status::Protocol,
            Status::HungUp,
            Status::Interrupted,
            Status::Terminated,
        ];
        assert_eq!(told, all.map(|status| status as u8));
    }

    #[test]
    fn l06_start_failures_exits_and_faults_have_different_statuses() {
        let start = Cause::Start { command: "x".to_owned(), failure: StartFailure::NotPermitted };
        assert_eq!(Status::of_cause(&start), Status::Connect);
        assert_eq!(Status::of_cause(&Cause::ExitedInHandshake(Exit::Code(1))), Status::Connect);
        assert_eq!(Status::of_cause(&Cause::Exited(Exit::Code(0))), Status::Died);
        assert_eq!(Status::of_cause(&Cause::Closed), Status::Fine);
        assert_eq!(Status::of_refusal(&Refusal::NotOffered("tools")), Status::Remote);
        assert_eq!(
            Status::of_refusal(&Refusal::UnknownTool { name: "x".to_owned(), near: vec![] }),
            Status::Usage
        );
    }
}
