public import FoundationEssentials
internal import SluiceModel

/// What an event comes from.
public enum EventOrigin: Sendable, Hashable {
    /// The observation began: the event has what was here.
    case initial
    /// Only the state of the subscription is new.
    case status
    /// A write, a purge, or another change that was made in this process.
    case local
    /// The server.
    case remote(Remote)
}

extension EventOrigin: CustomStringConvertible {
    /// `initial`, `status`, `local`, or `remote` with the kinds of operations: `remote (create, set)`.
    public var description: String {
        switch self {
        case .initial: "initial"
        case .status: "status"
        case .local: "local"
        case .remote(let remote): "remote (\(remote.operations.map(\.rawValue).sorted().joined(separator: ", ")))"
        }
    }
}

/// Whether results are what the server says, at the time of an event.
public enum Freshness: Sendable, Hashable {
    /// The server has answered the query in the connection that is open, and everything that it named is here. Results
    /// that show unsent writes can be fresh.
    case confirmed
    /// The results come from this store alone.
    ///
    /// - Parameter since: when the connection ended in which the server last confirmed them; nil if that was not in
    ///   this process, or never.
    case cached(since: Date?)
}

extension Freshness: CustomStringConvertible {
    /// `confirmed`, `cached`, or `cached since` a time in UTC.
    public var description: String {
        switch self {
        case .confirmed: "confirmed"
        case .cached(let since): "cached" + (since.map { " since \(Timestamp($0))" } ?? "")
        }
    }
}
