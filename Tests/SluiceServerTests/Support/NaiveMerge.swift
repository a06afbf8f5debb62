import SluiceModel

/// The rules of merging, as PROTOCOL.md and DESIGN.md state them. Every question searches everything that was ever
/// written, and a deletion has what it leaves merged again from the beginning.
struct NaiveMerge {
    let defaults: [Value]
    private(set) var supersededCount = 0
    private var objects: [Int64: NaiveObject] = [:]
    private var version: UInt64 = 0

    init(defaults: [Value]) { self.defaults = defaults }

    var rows: [Int64: [Value]] { objects.compactMapValues(\.row) }

    mutating func apply(_ changeset: Changeset, client: UInt64) {
        version += 1
        let stamp = WriteStamp(timestamp: changeset.timestamp, clientID: client, version: version)
        var actions: [(key: Int64, actions: [ObjectOperation.Action])] = []
        for operation in changeset.operations {
            guard case .int(let key) = operation.object.key else { continue }
            if !actions.contains(where: { $0.key == key }) { actions.append((key, [])) }
            let place = actions.firstIndex { $0.key == key }!
            // What is deleted later in the same transaction has never been.
            if case .delete = operation.action { actions[place].actions = [] }
            actions[place].actions.append(operation.action)
        }
        for (key, actions) in actions {
            var object = objects[key] ?? NaiveObject(key: key, defaults: defaults)
            object.apply(actions, stamp, base: changeset.baseVersion)
            supersededCount += object.supersededCount
            object.supersededCount = 0
            objects[key] = object
        }
    }
}

/// One object and all that is known of it.
private struct NaiveObject {
    /// What one transaction wrote to the properties, with the effect that it had.
    struct Write {
        var stamp: WriteStamp
        var assigned: Set<Int> = []
        /// What got a default that nobody has chosen.
        var defaulted: Set<Int> = []
        var added: [Int: Value] = [:]
        var edited: [Int: Set<Value>] = [:]
    }

    /// What an author did, also what had no effect.
    struct Origin {
        var stamp: WriteStamp
        var base: UInt64
        var creates: Bool
        var fields: [FieldOperation] = []
    }

    /// What was done since a creation met the object.
    struct Contest {
        /// What the object went back to before.
        var creations: [WriteStamp]
        var origins: [Origin] = []
        /// The object before the first creation whose author did not know all others.
        var former: Former?
    }

    struct Former {
        var row: [Value]?
        var creations: [WriteStamp]
        var writes: [Write]
        var originCount: Int
    }

    let key: Int64
    let defaults: [Value]
    var row: [Value]?
    var supersededCount = 0
    /// The creations that no deletion has undone.
    private var creations: [WriteStamp] = []
    private var deletions: [WriteStamp] = []
    /// What was written since the object was made.
    private var writes: [Write] = []
    private var contest: Contest?
    /// Whether it was ever deleted, or met by a creation.
    private var isLineaged = false

    init(key: Int64, defaults: [Value]) {
        self.key = key
        self.defaults = defaults
    }

    private func isKnown(to client: UInt64, _ base: UInt64) -> Bool {
        creations.contains { $0.version <= base || $0.clientID == client }
    }

    mutating func apply(_ actions: [ObjectOperation.Action], _ stamp: WriteStamp, base: UInt64) {
        var former = Former(row: row, creations: creations, writes: writes, originCount: 0)
        var write = Write(stamp: stamp)
        var origin = Origin(stamp: stamp, base: base, creates: false)
        /// Whether this transaction has made the object, and whether it has written to it at all.
        var (isOwn, hasWritten) = (false, false)
        let unknown = deletions.filter { $0.version > base }
        // Whoever changes an object that was created once, and never deleted, is taken to know it.
        let wasLineaged = isLineaged
        for action in actions {
            switch action {
            case .delete:
                deletions.append(stamp)
                isLineaged = true
                guard row != nil else { continue }
                let spared = creations.filter {
                    $0.version > base && $0.clientID != stamp.clientID && !($0 < stamp)
                }
                if spared.isEmpty {
                    (row, creations, writes, contest, isOwn) = (nil, [], [], nil, true)
                } else if spared.count == creations.count || !undo(allBut: spared) {
                    supersededCount += 1
                }
                former = Former(row: row, creations: creations, writes: writes, originCount: 0)
            case .create(let fields):
                guard origin.creates || !unknown.contains(where: { stamp < $0 }) else {
                    supersededCount += 1
                    continue
                }
                if row == nil {
                    isOwn = true
                    (creations, writes, contest) = ([], [], nil)
                    row = [.int(key)] + defaults.dropFirst()
                }
                // To a second creation of the same transaction, the object has values.
                let fields = origin.creates ? withoutDefaults(fields) : fields
                let isFirst = !origin.creates
                origin.creates = true
                (hasWritten, origin.fields) = (true, origin.fields + fields)
                for field in fields { apply(field, &write, isOwn ? nil : base, isNew: isOwn && isFirst) }
            case .update(let fields):
                guard row != nil, isOwn || origin.creates || !wasLineaged || isKnown(to: stamp.clientID, base) else {
                    supersededCount += 1
                    continue
                }
                let fields = withoutDefaults(fields)
                (hasWritten, origin.fields) = (true, origin.fields + fields)
                for field in fields { apply(field, &write, isOwn ? nil : base, isNew: false) }
            }
        }
        guard row != nil, hasWritten else { return }
        if isOwn {
            creations = [stamp]
        } else if origin.creates {
            isLineaged = true
            if contest == nil { contest = Contest(creations: creations) }
            if contest?.former == nil,
                creations.contains(where: { $0.version > base && $0.clientID != stamp.clientID })
            {
                former.originCount = contest?.origins.count ?? 0
                contest?.former = former
            }
            creations.append(stamp)
        }
        contest?.origins.append(origin)
        writes.append(write)
    }

    /// Merges again what a deletion leaves.
    ///
    /// - Returns: false if it is not known.
    private mutating func undo(allBut spared: [WriteStamp]) -> Bool {
        guard let contest else { return false }
        let former = contest.former.flatMap { $0.creations.allSatisfy(spared.contains) ? $0 : nil }
        if former == nil, contest.creations.contains(where: spared.contains) { return false }
        var rest = NaiveObject(key: key, defaults: defaults)
        (rest.deletions, rest.isLineaged) = (deletions, true)
        if let former {
            (rest.row, rest.creations, rest.writes) = (former.row, former.creations, former.writes)
            if former.originCount > 0 {
                let before = Array(contest.origins.prefix(former.originCount))
                rest.contest = Contest(creations: contest.creations, origins: before)
            }
        }
        let origins = contest.origins[(former?.originCount ?? 0)...]
        for origin in origins where !origin.creates || spared.contains(origin.stamp) {
            rest.apply(
                [origin.creates ? .create(origin.fields) : .update(origin.fields)], origin.stamp, base: origin.base)
        }
        (row, creations, writes, self.contest) = (rest.row, rest.creations, rest.writes, rest.contest)
        return true
    }

    // MARK: Properties

    /// A change of a field, where the default of a set that is not that of the class counts as chosen.
    private func chosen(_ field: FieldOperation) -> FieldOperation.Change {
        guard case .setDefault(let new) = field.change, case .set = new, new != defaults[field.property] else {
            return field.change
        }
        return .set(new)
    }

    /// What changes an object that has values: of defaults, which do nothing there, all but those that count as chosen.
    private mutating func withoutDefaults(_ fields: [FieldOperation]) -> [FieldOperation] {
        let left = fields.filter { if case .setDefault = chosen($0) { false } else { true } }
        supersededCount += fields.count - left.count
        return left
    }

    /// - Parameters:
    ///   - base: the version that the author knew; nil if the author has made the object …
    ///   - isNew: … and is about to.
    private mutating func apply(_ field: FieldOperation, _ write: inout Write, _ base: UInt64?, isNew: Bool) {
        let property = field.property
        guard property != 0, let value = row?[property] else { return }
        let concurrent = base.map { base in writes.filter { $0.stamp.version > base } } ?? []
        let isNew = base.map { !isKnown(to: write.stamp.clientID, $0) } ?? isNew
        let change = chosen(field)
        switch change {
        case .setDefault(let new):
            let isTouched =
                write.assigned.contains(property) || write.defaulted.contains(property)
                || write.added[property] != nil || write.edited[property] != nil
            guard isNew, !isTouched, !concurrent.contains(where: { $0.assigned.contains(property) }),
                concurrent.allSatisfy({ !$0.defaulted.contains(property) || $0.stamp < write.stamp })
            else {
                supersededCount += 1
                return
            }
            write.defaulted.insert(property)
            // What is edited already is edited on top of the same default.
            if case .set = new { return }
            row?[property] = concurrent.reduce(new) { sum, other in
                other.added[property].map { FieldOperation.Change.add($0).applied(to: sum) } ?? sum
            }
        case .edit(let edits): apply(edits, to: property, &write, concurrent)
        case .set, .clear, .add, .editList:
            guard !concurrent.contains(where: { $0.assigned.contains(property) && write.stamp < $0.stamp }) else {
                supersededCount += 1
                return
            }
            row?[property] = change.applied(to: value)
            guard case .add(let amount) = change else {
                for other in concurrent where write.stamp < other.stamp {
                    guard let amount = other.added[property], let value = row?[property] else { continue }
                    row?[property] = FieldOperation.Change.add(amount).applied(to: value)
                }
                write.assigned.insert(property)
                write.defaulted.remove(property)
                (write.added[property], write.edited[property]) = (nil, nil)
                return
            }
            guard !write.assigned.contains(property) else { return }
            write.added[property] = write.added[property].map(change.applied) ?? amount
        }
    }

    private mutating func apply(
        _ edits: ElementEdits, to property: Int, _ write: inout Write, _ concurrent: [Write]
    ) {
        let assignments = concurrent.filter { $0.assigned.contains(property) }
        // What was edited before an assignment is gone.
        let recent = concurrent.filter { $0.stamp.version > assignments.last?.stamp.version ?? 0 }
        let isOwn = write.assigned.contains(property)
        let left = edits.filter { name in
            isOwn || !recent.contains { $0.edited[property]?.contains(name) == true && write.stamp < $0.stamp }
        }
        let isDiscarded = !isOwn && assignments.contains { counts($0, among: assignments, write) }
        guard !isDiscarded, !left.isEmpty, let value = row?[property] else {
            supersededCount += 1
            return
        }
        row?[property] = FieldOperation.Change.edit(left).applied(to: value)
        if !isOwn { write.edited[property, default: []].formUnion(left.outcomes.keys) }
    }

    /// Whether an assignment discards an edit: one of another, that no later one of the log has outdone.
    private func counts(_ assignment: Write, among assignments: [Write], _ write: Write) -> Bool {
        assignment.stamp.clientID != write.stamp.clientID
            && !assignments.contains {
                $0.stamp.version > assignment.stamp.version && !($0.stamp < assignment.stamp)
            }
    }
}
