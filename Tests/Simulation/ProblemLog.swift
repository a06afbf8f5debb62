import SluiceModel
import Synchronization

/// Collects log lines that must not occur in a simulation, in which only network and power fail.
final class ProblemLog: Sendable {
    private let lines = Mutex<[String]>([])
    private let expectsResets = Atomic(false)
    private let expectsReplacements = Atomic(false)

    func sink(_ side: String) -> LogSink {
        LogSink(level: .info) { [self] entry in
            let text = ([entry.message] + entry.metadata.map { "\($0.name): \($0.value)" }).joined(separator: ", ")
            // The server sends a client away once if it returns before the server has noticed that it was gone.
            // It sends everybody away when a program of another version changes its schema, and when another node begins
            // an epoch.
            let isSentAway =
                entry.message == "the server asks to come again" && !text.contains("has opened another session")
                && !text.contains("schema has changed") && !text.contains("history goes on in another epoch")
            // The journal of several nodes falls silent.
            if Self.silence.contains(where: text.contains) { return }
            // Logins end, and rules change.
            if Self.endsOfLogins.contains(where: text.contains) { return }
            if expectsResets.load(ordering: .relaxed), text.contains("the server's history is not the one") { return }
            if expectsReplacements.load(ordering: .relaxed), Self.replacements.contains(where: text.contains) { return }
            guard entry.level >= .warning || isSentAway else { return }
            lines.withLock { $0.append("\(side): \(text)") }
        }
    }

    private static let silence = ["does not answer", "the server can write its database again"]

    private static let endsOfLogins = [
        "the token does not hold", "credentials of the session have expired", "login of the session was revoked",
        "the store was synced for another user", "the new credentials are of another user",
        "the database's rules have changed", "what the user may read has changed",
    ]

    private static let replacements = [
        "a database has another history", "the journal has another history than the database",
        "does not continue the history that the database has",
        "the journal no longer has the group", "no longer has what it lacks", "the journal does not have group",
        "does not have what it has",
        "the server could not read or write its database",
    ]

    /// Notes that nodes may make their replicas anew from now on, since their journal has lost groups.
    func expectReplacements() { expectsReplacements.store(true, ordering: .relaxed) }

    /// Notes that clients may begin anew from now on, since the server has lost what they may have seen.
    func expectResets() { expectsResets.store(true, ordering: .relaxed) }

    /// The first problem so far.
    var first: String? { lines.withLock { $0.first } }
}
