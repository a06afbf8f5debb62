extension ObjectTrail {
    /// What a deletion leaves of an object if it undoes a part of what the object goes back to.
    struct Left {
        /// The object; nil if earlier deletions, which could not be carried out then, undo the rest.
        var row: Row?
        /// The trail of what is left.
        var trail: ObjectTrail
        /// The latest deletion of others that the author did not know of.
        var deletion: WriteStamp?
        var rest: WriteLineage.Rest
    }

    /// Merges what a deletion leaves, as if the deletion had come first. O(writes since a creation met the object).
    ///
    /// - Parameters:
    ///   - deletion: a deletion that undoes a part of what the object goes back to.
    ///   - base: the version that its author knew.
    /// - Returns: nil if the writes are not known as they were made.
    func left(
        by deletion: WriteStamp, since base: UInt64, of object: ObjectRef, _ template: Merger.Template
    ) -> Left? {
        func survives(_ creation: WriteStamp) -> Bool { lineages.survives(creation, deletion, since: base) }
        guard let contest, contest.isComplete else { return nil }
        let former = contest.former.flatMap { former in
            !former.lineages.hasOriginal && former.lineages.creations.allSatisfy(survives) ? former : nil
        }
        if former == nil, contest.creations.contains(where: survives) { return nil }
        let trail = former == nil ? deletionsAlone() : beforeFormer()
        trail.lineages.noteDeletion(deletion)
        var row = former?.row
        var writes: [WriteLineage.StampedWrite] = []
        for write in contest.writes[(former?.writeCount ?? 0)...] {
            stepCount += 1
            let (stamp, origin) = (write.stamp, write.origin)
            let counts =
                write.creates
                ? survives(stamp) : row != nil && trail.lineages.isKnown(to: stamp.clientID, since: origin.base)
            guard counts else { continue }
            var merger = Merger(row, of: template)
            merger.apply(
                ObjectOperation(object, write.creates ? .create(origin.fields) : .update(origin.fields)),
                author: stamp, history: ObjectHistory(trail, since: origin.base))
            guard let note = merger.note(by: stamp, replacing: row, base: origin.base, isLineaged: true) else {
                continue
            }
            trail.append(note, stamp)
            writes.append(.init(note, stamp))
            row = merger.row
        }
        return Left(
            row: row, trail: trail, deletion: lineages.latestDeletion(since: base),
            rest: .init(keepsFormer: former != nil, writes: writes))
    }
}
