internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    /// What a client that stood at `version` missed of a view.
    ///
    /// Costs nothing where nothing that the view could show has changed. Otherwise the log is replayed through the view's
    /// predicate; views whose members depend on more than the object itself (limits, links) start anew.
    ///
    /// - Parameter byteCountMax: the most bytes before compression that the answer may have, about.
    /// - Returns: nil when the client has to start anew.
    func replay(_ live: LiveView, since version: UInt64, byteCountMax: Int) throws -> ViewBlock? {
        guard version <= storage.version, version >= storage.logStart else { return nil }
        guard version < storage.version else { return ViewBlock() }
        let olds = try storage.oldImages(since: version).filter {
            live.concernedProperties[$0.object.classIndex] != nil
        }
        guard !olds.isEmpty else { return ViewBlock() }
        guard !live.holdsMembers, live.query.object == nil, !live.query.usesLinkPaths,
            olds.count <= limits.replayObjectCountMax
        else { return nil }
        var builder = ViewBlockBuilder(rowCountMax: .max, byteCountMax: byteCountMax)
        let evaluator = Evaluator(live.query, schema: storage.schema)
        for (object, old) in olds {
            guard !builder.isFull else { return nil }
            guard object.classIndex == live.query.classIndex else { continue }
            let included = live.includedOfRoot(object)
            let new = try storage.row(object)
            let wasMember = try old.map { try evaluator.matches($0, in: storage) } ?? false
            let isMember = try new.map { try evaluator.matches($0, in: storage) } ?? false
            switch (wasMember, isMember) {
            case (false, true):
                if let new { builder.add(new, of: object.classIndex, properties: included, role: .root) }
            case (true, false):
                builder.add(object, role: .root, reason: new == nil ? .deleted : .filter)
            case (true, true):
                guard let old, let new else { continue }
                let delta = ObjectDelta(object: object, old: old, new: new, authors: [])
                let changed = delta.changed.intersection(included)
                if !changed.isEmpty { builder.add(new, of: object.classIndex, properties: changed, role: .member) }
            case (false, false): continue
            }
        }
        return builder.blocks[0]
    }
}
