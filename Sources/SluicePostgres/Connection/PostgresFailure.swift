#if PostgreSQL

internal import SluiceStorage

/// Why a statement has no result.
package enum PostgresFailure: Error, Hashable {
    /// PostgreSQL answered that the statement failed, with an SQLSTATE, and goes on: it surely had no effect.
    case refused(state: String, String)
    /// There was no answer, or the connection has ended: whether the statement had an effect is not known.
    case lost(String, state: String? = nil)
    /// The server cannot be used as it is; somebody has to change something. Nothing was sent.
    case unsuitable(String)
    /// The service has been stopped.
    case stopped

    /// The server has said nothing for as long as it may: to ask again would take as long.
    static let late = PostgresFailure.lost("no answer in time")

    /// The failure of one server of several, which an address names.
    func about(_ host: PostgresAddress.Host) -> PostgresFailure {
        if case .unsuitable(let reason) = self { .unsuitable("names \(host), which \(reason)") } else { self }
    }

    /// The failure to connect to any of several servers: what refuses the login says more than what is not there. Where one
    /// does not answer, it may be the right one, whatever is wrong with the others.
    static func ofAll(_ failures: [PostgresFailure]) -> PostgresFailure {
        guard let last = failures.last else { return .lost("it has no address") }
        if let refusal = failures.first(where: \.isOfAccess) { return refusal }
        let unsuitable = failures.compactMap { if case .unsuitable(let reason) = $0 { reason } else { nil } }
        guard case .lost(let reason, let state)? = failures.last(where: { if case .lost = $0 { true } else { false } }),
            !unsuitable.isEmpty
        else { return last }
        return .lost(([reason] + unsuitable.map { "the address \($0)" }).joined(separator: "; "), state: state)
    }

    /// Whether the connection has ended by itself, and another may do.
    var isOfConnection: Bool { if case .lost = self { self != .late } else { false } }

    /// The five characters by which PostgreSQL says what was wrong; see its appendix A.
    var state: String? {
        switch self {
        case .refused(let state, _): state
        case .lost(_, let state): state
        case .unsuitable, .stopped: nil
        }
    }

    /// Whether the failure is that of a login or of rights, which does not pass by itself.
    var isOfAccess: Bool { state.map { $0.hasPrefix("28") || $0 == "42501" || $0 == "3D000" } ?? false }

    /// Whether the server cannot be used before somebody changes something.
    var isOfSetup: Bool { if case .unsuitable = self { true } else { isOfAccess } }

    /// Whether PostgreSQL has ended the transaction because of others, by a deadlock or a serialization failure.
    var isOfConcurrency: Bool { if case .refused(let state, _) = self { state.hasPrefix("40") } else { false } }

    /// Whether the same statement has to be sent again to know, or to succeed: the answer is missing, or there was a
    /// deadlock or a serialization failure.
    var isRepeatable: Bool {
        switch self {
        case .lost: true
        case .refused: isOfConcurrency
        case .unsuitable, .stopped: false
        }
    }

    /// The failure as the engine knows them.
    ///
    /// - Parameters:
    ///   - what: what was to be done, as a clause: "the group could not be appended".
    ///   - address: the server.
    func storageError(_ what: String, _ address: PostgresAddress) -> StorageError {
        switch self {
        case .stopped: StorageError(.busy, "\(what): the journal was closed, since the server stops")
        case .unsuitable(let reason): StorageError(.journal, "\(what): \(address) \(reason)")
        case .lost(let reason, _) where isOfAccess:
            StorageError(
                .journal, "\(what): \(address) refuses the login (\(reason)); check user, password and database")
        case .lost(let reason, _):
            StorageError(.busy, "\(what): \(address) does not answer (\(reason))")
        case .refused(let state, let message):
            StorageError(
                Self.isPassing(state) ? .busy : .journal,
                "\(what): \(address) says: \(message) (SQLSTATE \(state)); \(Self.advice(state, message))")
        }
    }

    /// Whether the same statement may succeed later although nobody does anything: locks, timeouts, serialization, a
    /// lack of resources, a server that starts or stops, or a standby that is no primary yet.
    private static func isPassing(_ state: String) -> Bool {
        ["55P03", "25P03", "25006"].contains(state) || ["40", "53", "57", "58", "08"].contains { state.hasPrefix($0) }
    }

    private static func advice(_ state: String, _ message: String) -> String {
        switch state {
        case "42501" where message.contains("function"):
            "let a superuser run GRANT EXECUTE ON that FUNCTION to this role"
        case "55P03": "another node keeps the turn for longer than a lock may be waited for"
        case "57014": "the statement took longer than it may"
        case "25006": "it is a standby or read only; name the primary, or all servers"
        case "42501":
            "let an administrator run what `sluice cluster init --print --role=NAME` prints, with this role's name"
        case "3F000", "42P01", "42703": "run `sluice cluster init`, which makes the tables"
        case "53100": "free some space on its disk"
        case "53300": "raise max_connections; a node takes 6"
        default: "see PostgreSQL's log"
        }
    }
}

#endif
