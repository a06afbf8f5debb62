package import SluiceModel
internal import SluiceWire

/// What becomes of a consumer's name while the consumer leaves it to others.
package enum ConsumerNameNews: Sendable, Hashable {
    /// Another consumer has the name, and this one waits for it.
    case standsBy(NameHolder)
    /// This one has waited for the name, and has it now.
    case taken
    /// Another consumer has taken the name from this one, which waits for it.
    case lost
}

/// What is known of who has a consumer's name. The database does not keep which process that is.
package struct NameHolder: Sendable, Hashable {
    /// When it was last heard of, by the server's clock; nil if it has let go of the name since.
    package var heardOf: Timestamp?
    /// When anybody has last committed under the name; nil for never.
    package var committedAt: Timestamp?

    package init(heardOf: Timestamp? = nil, committedAt: Timestamp? = nil) {
        self.heardOf = heardOf
        self.committedAt = committedAt
    }
}

extension NameHolder {
    /// - Parameters:
    ///   - record: what the database keeps of the consumer.
    ///   - hold: how long a name counts as held after its holder was last heard of.
    init(_ record: JobRecord, _ state: ConsumerState, hold: Duration) {
        self.init(heardOf: record.due?.advanced(by: .zero - hold), committedAt: state.committedAt)
    }
}

extension NameHolder: CustomStringConvertible {
    /// When it was heard of, and when anybody has committed.
    package var description: String {
        let heard = heardOf.map { "was last heard of at \($0)" } ?? "has just ended"
        return "\(heard), and \(committedAt.map { "the last commit was at \($0)" } ?? "nothing was committed yet")"
    }
}

extension JobError {
    static func superseded(_ name: String) -> JobError {
        JobError(
            .superseded,
            "another consumer has taken the name '\(name)' since, or it was removed: one process at a time can have it")
    }

    static func nameHeld(_ name: String, by holder: NameHolder, hold: Duration) -> JobError {
        JobError(
            .nameHeld,
            "another consumer has the name '\(name)' and is at work: it \(holder). Let it end; one that was killed has the "
                + "name for \(hold.components.seconds) s more")
    }

    static func nameTaken(_ name: String, of stored: String, not query: String) -> JobError {
        JobError(
            .nameTaken,
            "the consumer '\(name)' is of the query '\(stored)', not of '\(query)': use another name, or remove the "
                + "consumer first")
    }
}
