internal import SluiceStorage

/// The users that several servers of one process share, in memory, as one of the servers reaches them.
final class MemoryUsers: UserStore {
    private let journals: MemoryJournals
    private let file: UserFile

    /// - Parameters:
    ///   - journals: how the server reaches what all share.
    ///   - file: what they share.
    init(_ journals: MemoryJournals, _ file: UserFile) {
        self.journals = journals
        self.file = file
    }

    func read<Result: Sendable>(_ body: (any UserRecords) throws -> Result) throws -> Result {
        try checkItAnswers()
        return try file.read(body)
    }

    func write<Result: Sendable>(about name: String, _ body: (any UserRecords) throws -> Result) throws -> Result {
        try checkItAnswers()
        let result = try file.write(about: name, body)
        for other in journals.others { other.hearOfUsers() }
        return result
    }

    private func checkItAnswers() throws {
        guard journals.answers else { throw StorageError(.busy, "the users' server does not answer") }
    }

    func watch(_ didChange: @escaping @Sendable () -> Void) { journals.watchUsers(didChange) }

    // The file is that of the other servers, too.
    func close() { journals.watchUsers(nil) }
}

/// Carries ephemeral messages between several servers of one process, as one of the servers reaches the others.
struct MemoryRelay: MessageRelay {
    private let journals: MemoryJournals

    init(_ journals: MemoryJournals) { self.journals = journals }

    func send(_ messages: [[UInt8]], inDatabase name: String) {
        guard journals.answers else { return }
        for other in journals.others { other.hear(messages, in: name) }
    }

    func receive(_ hear: @escaping @Sendable (_ messages: [[UInt8]], _ database: String) -> Void) {
        journals.receive(hear)
    }
}
