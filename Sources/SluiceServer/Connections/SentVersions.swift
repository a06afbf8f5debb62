/// Up to which version of each database a connection's messages have left for its client.
///
/// A database gives the connection messages turn by turn, and the connection says how many bytes wait. So the number of
/// bytes that were given so far tells which turn the first byte that waits is of. What other parts of the server send,
/// such as pings, makes this say a little less than has left, and never more.
struct SentVersions: Sendable {
    /// What one or several turns have given.
    fileprivate struct Mark {
        let start: UInt64
        /// How many bytes were given up to here.
        var end: UInt64
        /// The version that the database had before the first of the turns, of which the client has everything before the
        /// mark.
        let version: UInt64
    }

    /// The turns of a database of which something may wait, ascending.
    fileprivate struct Turns {
        let database: String
        var marks: [Mark] = []
        /// Turns are told apart that begin at least so many bytes after each other.
        var markByteCount: UInt64 = 0
    }

    /// The most marks of a database. Where there are as many, each two become one, and from then on marks have twice as
    /// many bytes.
    fileprivate static let markCountMax = 64

    private var givenByteCount: UInt64 = 0
    /// Few connections have sessions on several databases.
    private var turns: [Turns] = []

    /// Notes a message that a database has given.
    ///
    /// - Parameters:
    ///   - byteCount: its length on the wire.
    ///   - version: the version of the database before the turn that made the message.
    ///   - waitingByteCount: how many bytes wait, with this message.
    mutating func note(byteCount: Int, of database: String, at version: UInt64, waitingByteCount: Int) {
        let start = givenByteCount
        givenByteCount += UInt64(byteCount)
        let left = leftByteCount(waitingByteCount)
        let place: Int
        if let known = turns.firstIndex(where: { $0.database == database }) {
            place = known
        } else {
            turns.append(Turns(database: database))
            place = turns.count - 1
        }
        turns[place].add(Mark(start: start, end: givenByteCount, version: version), left: left)
    }

    /// The version of a database of which the client was sent everything; nil if nothing waits.
    func version(of database: String, waitingByteCount: Int) -> UInt64? {
        guard waitingByteCount > 0 else { return nil }
        let left = leftByteCount(waitingByteCount)
        return turns.first { $0.database == database }?.marks.first { $0.end > left }?.version
    }

    private func leftByteCount(_ waitingByteCount: Int) -> UInt64 {
        let waiting = UInt64(max(0, waitingByteCount))
        return givenByteCount > waiting ? givenByteCount - waiting : 0
    }
}

extension SentVersions.Turns {
    /// Adds what a turn has given, and forgets what has left.
    fileprivate mutating func add(_ mark: SentVersions.Mark, left: UInt64) {
        marks.removeAll { $0.end <= left }
        if marks.isEmpty { markByteCount = 0 }
        if let last = marks.last, last.version == mark.version || mark.start - last.start < markByteCount {
            marks[marks.count - 1].end = mark.end
            return
        }
        if marks.count == SentVersions.markCountMax { halve() }
        marks.append(mark)
    }

    private mutating func halve() {
        markByteCount = max(
            2 * markByteCount, 2 * ((marks[marks.count - 1].end - marks[0].start) / UInt64(marks.count)))
        marks = stride(from: 0, to: marks.count, by: 2).map { place in
            SentVersions.Mark(
                start: marks[place].start, end: marks[min(place + 1, marks.count - 1)].end,
                version: marks[place].version)
        }
    }
}
