/// What was done to an object since a creation met it that others had made already.
///
/// The effects of the writes of several creations hide one another. So the writes are kept as their authors made them:
/// when a deletion undoes some of the creations, what is left is merged again without the others.
struct Contest {
    struct Write {
        var stamp: WriteStamp
        var creates: Bool
        var origin: WriteLineage.Origin
    }

    /// The object before the first creation whose author did not know of all of it.
    struct Former {
        var row: Row
        var lineages: Lineages
        var properties: [Int: ObjectTrail.PropertyTrail]
        /// How many of the writes had come before.
        var writeCount: Int
    }

    /// The creations to which the object went back before all of the writes.
    let creations: [WriteStamp]
    private(set) var former: Former?
    /// The writes that belong to something that the object goes back to, in the order of their versions.
    private(set) var writes: [Write] = []
    /// Whether all of them are known as they were made. Merging writes that down; bytes of a journal may say anything.
    private(set) var isComplete = true

    init(_ creations: [WriteStamp]) { self.creations = creations }

    mutating func append(_ note: WriteNote, _ stamp: WriteStamp) {
        if let origin = note.lineage?.origin {
            writes.append(Write(stamp: stamp, creates: note.creates, origin: origin))
        } else if !note.written.isEmpty || note.creates {
            isComplete = false
        }
    }

    /// Keeps what the object is before the next write, unless something is kept already.
    mutating func keep(_ row: Row, _ lineages: Lineages, _ properties: [Int: ObjectTrail.PropertyTrail]) {
        guard former == nil else { return }
        former = Former(row: row, lineages: lineages, properties: properties, writeCount: writes.count)
    }

    /// The contest before what was kept; nil if there was none.
    var beforeFormer: Contest? {
        guard let former, former.writeCount > 0 else { return nil }
        var contest = Contest(creations)
        contest.writes = Array(writes.prefix(former.writeCount))
        contest.isComplete = isComplete
        return contest
    }
}
