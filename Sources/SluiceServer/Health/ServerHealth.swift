/// Whether a server can serve stores, and what keeps it from that.
package struct ServerHealth: Sendable, Hashable {
    /// | state | event | next |
    /// |---|---|---|
    /// | starting | the server listens | serving |
    /// | serving | sessions are handed over to another server, or the server is told to drain | draining |
    /// | draining | sessions are served here again | serving |
    /// | starting, serving, draining | the server stops | stopped |
    package enum Phase: String, Sendable {
        case starting, serving, draining, stopped
    }

    /// What is known of the journals that several servers share.
    package struct Journals: Sendable, Hashable {
        /// For how long the journals' server has not answered, in milliseconds; 0 while it does.
        package var silenceMilliseconds: UInt64 = 0
        /// For how long the database that is furthest behind its journal has been so, in milliseconds.
        package var lagMilliseconds: UInt64 = 0
        /// The most groups that a database lacks.
        package var lagPositions: UInt64 = 0
        /// The databases whose journals answer, and those whose journals do not.
        package var answeringCount = 0
        package var silentCount = 0

        /// Whether all journals answer.
        var answer: Bool { silenceMilliseconds == 0 && silentCount == 0 }
    }

    /// After so long of silence, and with so long a lag, stores are better served by another node, in milliseconds.
    package static let journalTimeMax: UInt64 = 10_000

    package var phase: Phase
    package var openCount = 0
    package var writableCount = 0
    package var damagedCount = 0
    /// The databases that could not be opened.
    package var failedCount = 0
    /// Whether files can be made in the data folder.
    package var isFolderWritable = true
    /// Whether the server's own users can be changed, and logins be stored; nil where it has none.
    package var areUsersWritable: Bool?
    /// Nil where each database has its journal in its own file.
    package var journals: Journals?

    package init(phase: Phase) { self.phase = phase }

    /// Whether stores should come here. A server whose databases cannot be written is ready: reading goes on.
    package var isReady: Bool {
        guard phase == .serving else { return false }
        guard let journals else { return true }
        return journals.silenceMilliseconds < Self.journalTimeMax && journals.lagMilliseconds < Self.journalTimeMax
    }

    /// Whether nothing is known to keep the server from storing what it is sent.
    private var isWritable: Bool {
        // A database that nobody writes to notices only at its next commit that its journal does not answer.
        writableCount == openCount && isFolderWritable && areUsersWritable ?? true && journals?.answer ?? true
    }

    /// The health as JSON, which names no database.
    package var json: String {
        var members: [(String, JSONText)] = [
            ("state", .string(phase.rawValue)), ("ready", .bool(isReady)),
            ("writable", .bool(isWritable)),
            (
                "databases",
                .object([
                    ("open", .number(UInt64(openCount))), ("writable", .number(UInt64(writableCount))),
                    ("damaged", .number(UInt64(damagedCount))), ("failed", .number(UInt64(failedCount))),
                ])
            ),
        ]
        if let areUsersWritable {
            members.append(("users", .object([("writable", .bool(areUsersWritable))])))
        }
        if let journals {
            members.append(
                (
                    "journal",
                    .object([
                        ("answers", .bool(journals.answer)),
                        ("silenceMilliseconds", .number(journals.silenceMilliseconds)),
                        ("answering", .number(UInt64(journals.answeringCount))),
                        ("silent", .number(UInt64(journals.silentCount))),
                        ("lagPositions", .number(journals.lagPositions)),
                        ("lagMilliseconds", .number(journals.lagMilliseconds)),
                    ])
                ))
        }
        return JSONText.object(members).text
    }
}
