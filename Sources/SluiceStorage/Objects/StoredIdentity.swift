internal import SluiceModel
internal import SluiceWire

/// Reads the identity of a list from the rows of its elements. A row has that of its element, and of as many that follow
/// as have none.
struct StoredIdentity {
    private var parts: [(run: ListIdentity.Run, count: Int)] = []
    private var count = 0
    private var isKnown = true

    /// Adds the next row; nil for one without an identity.
    mutating func add(_ bytes: [UInt8]?) {
        defer { count += 1 }
        guard isKnown else { return }
        if let bytes {
            guard let identity = try? ListIdentity(wireBytes: bytes), identity.runs.count == 1 else {
                isKnown = false
                return
            }
            parts.append((identity.runs[0], 0))
        }
        // A list that was set as a whole has no parts.
        guard let part = parts.last else { return }
        guard part.count < part.run.count else {
            isKnown = false
            return
        }
        parts[parts.count - 1].count += 1
    }

    /// That of the list; nil if it was set as a whole.
    var identity: ListIdentity? {
        guard isKnown else { return .unknown }
        guard let first = parts.first else { return nil }
        // One that is stored as it is.
        if parts.count == 1, first.run.count == first.count { return ListIdentity(runs: [first.run]) }
        let identity = ListIdentity(of: parts)
        return identity?.count == count ? identity : .unknown
    }
}

extension ListIdentity {
    /// What the row has in which a run begins.
    func bytes(from run: Int) -> [UInt8] {
        // What is not known stays so.
        run < runs.count ? ListIdentity(runs: [runs[run]]).wireBytes() : wireBytes()
    }
}
