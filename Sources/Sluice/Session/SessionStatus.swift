public import FoundationEssentials
internal import SluiceModel

/// What the syncing of a store does at one moment.
public struct SessionStatus: Sendable, Hashable {
    /// Whether the store wants to sync.
    public enum State: Sendable, Hashable {
        /// The store syncs, or tries to: it connects, and connects again after a loss.
        case active
        /// Syncing rests until ``StoreSession/resume()``. Those who wait for the server go on waiting.
        case paused
        /// Syncing has not begun, or was stopped. ``StoreSession/start(reset:)`` begins it.
        case stopped
        /// The server does not accept the credentials, or accepts them no longer. `Store.authenticate(_:)` with others
        /// begins anew.
        case needsCredentials
        /// Syncing ended with an error that trying again would not mend. ``StoreSession/start(reset:)`` tries again
        /// once the cause is gone.
        case failed(SyncError)
    }

    /// What there is of a connection.
    public enum Connection: String, Sendable, Hashable {
        /// There is none.
        case disconnected
        /// The store connects, or the server is opening its session.
        case connecting
        /// The server has opened the session: subscriptions and uploads flow.
        case connected
    }

    /// What syncing does.
    public enum Activity: String, Sendable, Hashable {
        /// Nothing: the state is not ``State/active``.
        case stopped
        /// It waits before the next attempt to connect.
        case offline
        /// It connects.
        case connecting
        /// It is connected and has nothing to do: every query is complete and everything written here is acknowledged.
        case idle
        /// It is connected, and uploads or downloads.
        case busy
    }

    /// Whom the server takes the store's user for.
    public struct Login: Sendable, Hashable {
        /// The user's id; nil for the anonymous user.
        public let userID: String?
        /// When the login ends unless it is renewed, by the server's clock; nil if it does not end by itself.
        public let expiresAt: Date?

        package init(userID: String?, expiresAt: Date? = nil) {
            self.userID = userID
            self.expiresAt = expiresAt
        }
    }

    /// Whether the store wants to sync.
    public var state: State
    /// What there is of a connection.
    public var connection: Connection
    /// What syncing does.
    public var activity: Activity
    /// Whom the server has let in; nil while there is no session. It changes with each login, and when one is renewed.
    public var login: Login?
    /// Why the last connection or attempt ended, or what the server reported and goes on with; nil if nothing is
    /// wrong, and once the server has sent content again.
    public var problem: String?

    package init(
        state: State, connection: Connection, activity: Activity, login: Login? = nil, problem: String? = nil
    ) {
        self.state = state
        self.connection = connection
        self.activity = activity
        self.login = login
        self.problem = problem
    }

    /// The status of a store that syncs with nothing: it was closed, or has not begun.
    package static let stopped = SessionStatus(state: .stopped, connection: .disconnected, activity: .stopped)
}

extension SessionStatus: CustomStringConvertible {
    /// The activity of an active session, or the state, and the problem if there is one.
    public var description: String {
        let now: String =
            switch state {
            case .active: activity.rawValue
            case .paused: "paused"
            case .stopped: "stopped"
            case .needsCredentials: "needs credentials"
            case .failed: "failed"
            }
        let why: String? = if case .failed(let error) = state { error.message } else { problem }
        return now + (why.map { ": \($0)" } ?? "")
    }
}

extension SessionStatus.Login: CustomStringConvertible {
    /// The user, and when the login ends: `ada until 2026-11-23T15:00:00Z`.
    public var description: String {
        (userID ?? "anonymous") + (expiresAt.map { " until \(Timestamp($0))" } ?? "")
    }
}

/// A change of a session's status.
public struct SessionChange: Sendable, Hashable {
    /// The status before; nil in the first change that a listener is given, which tells how things are.
    public let old: SessionStatus?
    /// The status after.
    public let new: SessionStatus

    package init(old: SessionStatus?, new: SessionStatus) {
        self.old = old
        self.new = new
    }
}

extension SessionChange: CustomStringConvertible {
    /// The status before and after, with an arrow between them, and the login where it is new: `connecting → idle as
    /// ada`.
    public var description: String {
        let login = new.login == old?.login ? nil : new.login
        return (old.map { "\($0) → " } ?? "") + "\(new)" + (login.map { " as \($0)" } ?? "")
    }
}
