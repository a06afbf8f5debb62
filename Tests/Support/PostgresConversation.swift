/// What a connection to PostgreSQL says, as far as tests have to know where an append to a journal is.
///
/// An append is the statement `append` or `appendHolding`, executed by its name. It counts by its own answer, or within a
/// turn, which is a transaction, by that of COMMIT.
struct PostgresConversation {
    /// What a client says, as far as it is about appends that are no part of a turn.
    enum Request { case prepares, appends }

    private var client = MessageHeads()
    private var server = MessageHeads()
    private var isInTurn = false
    /// Whether the statement that is under way appends, and whether one has appended in the turn.
    private var appends = false
    private var hasAppendedInTurn = false

    /// Reads what the client says.
    ///
    /// - Returns: what is said there about appends that are no part of a turn; nil for nothing.
    mutating func hear(client bytes: ArraySlice<UInt8>) -> Request? {
        var found: Request?
        for head in client.read(bytes) {
            switch head.type {
            // One byte says whether the server encrypts.
            case nil where head.isRequestForEncryption: server.expectByte()
            case nil: server.begin()
            case UInt8(ascii: "P") where Self.isAppend(head.body[...]):
                if !isInTurn { found = .prepares }
            // The portal has no name.
            case UInt8(ascii: "B") where Self.isAppend(head.body.dropFirst()):
                appends = true
                if !isInTurn { found = .appends }
            case UInt8(ascii: "Q"):
                let text = String(decoding: head.body, as: UTF8.self)
                if text.hasPrefix("BEGIN") { (isInTurn, hasAppendedInTurn) = (true, false) }
            default: continue
            }
        }
        return found
    }

    /// Whether a message goes on with the name of a statement that appends.
    private static func isAppend(_ bytes: ArraySlice<UInt8>) -> Bool {
        ["append", "appendHolding"].contains(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
    }

    /// Reads what the server says.
    ///
    /// - Returns: whether it says that a group is in the journal.
    mutating func hear(server bytes: ArraySlice<UInt8>) -> Bool {
        var isFound = false
        for head in server.read(bytes) where head.type == UInt8(ascii: "C") {
            switch String(decoding: head.body.prefix { $0 != 0 }, as: UTF8.self) {
            case "INSERT 0 1" where appends:
                if isInTurn { hasAppendedInTurn = true } else { isFound = true }
                appends = false
            case "COMMIT":
                isFound = isFound || hasAppendedInTurn
                (isInTurn, hasAppendedInTurn) = (false, false)
            case "ROLLBACK": (isInTurn, hasAppendedInTurn) = (false, false)
            case let tag where tag.hasPrefix("INSERT"): appends = false
            default: continue
            }
        }
        return isFound
    }
}

/// The beginnings of the messages of one direction, whatever the pieces in which they arrive.
private struct MessageHeads {
    struct Head {
        /// Nil for a message of a connection's start.
        var type: UInt8?
        /// The first bytes of the content.
        var body: [UInt8]
        var length: Int

        var isRequestForEncryption: Bool { type == nil && length == 8 }
    }

    private static let bodyCountMax = 48
    private var head: [UInt8] = []
    /// How much of the message is still to come; nil before its length is known.
    private var left: Int?
    private var length = 0
    private var isStarted = false
    private var singleByteCount = 0

    mutating func expectByte() { singleByteCount += 1 }

    /// The messages from here on have types.
    mutating func begin() { isStarted = true }

    mutating func read(_ bytes: ArraySlice<UInt8>) -> [Head] {
        var heads: [Head] = []
        var rest = bytes
        while !rest.isEmpty {
            if singleByteCount > 0, head.isEmpty {
                singleByteCount -= 1
                rest = rest.dropFirst()
                continue
            }
            let headerCount = isStarted ? 5 : 4
            if left == nil {
                let taken = rest.prefix(headerCount - head.count)
                head += taken
                rest = rest.dropFirst(taken.count)
                guard head.count == headerCount else { continue }
                length = head.suffix(4).reduce(0) { $0 << 8 | Int($1) }
                left = max(0, length - 4)
            }
            guard let count = left else { continue }
            let taken = rest.prefix(count)
            head += taken.prefix(max(0, headerCount + Self.bodyCountMax - head.count))
            rest = rest.dropFirst(taken.count)
            left = count - taken.count
            guard left == 0 else { continue }
            let found = Head(type: isStarted ? head[0] : nil, body: Array(head.dropFirst(headerCount)), length: length)
            heads.append(found)
            if !isStarted, !found.isRequestForEncryption { isStarted = true }
            (head, left) = ([], nil)
        }
        return heads
    }
}
