import SluiceModel

/// The rules of merging, as PROTOCOL.md and DESIGN.md state them. Every question searches everything that was ever
/// written.
struct NaiveMerge {
    private struct Write {
        enum Kind { case create, update, delete }

        var version: Int
        var time: Int64
        var client: UInt64
        var key: Int64
        var kind: Kind
        /// Whether it was a creation that met the object.
        var creates = false
        var assigned: Set<Int> = []
        /// What got a default that nobody has chosen.
        var defaulted: Set<Int> = []
        var added: [Int: Value] = [:]
        var edited: [Int: Set<Value>] = [:]

        func touches(_ property: Int) -> Bool {
            assigned.contains(property) || defaulted.contains(property) || added[property] != nil
                || edited[property] != nil
        }
    }

    let defaults: [Value]
    private(set) var rows: [Int64: [Value]] = [:]
    private(set) var supersededCount = 0
    private var writes: [Write] = []
    private var version = 0

    init(defaults: [Value]) { self.defaults = defaults }

    mutating func apply(_ changeset: Changeset, client: UInt64) {
        version += 1
        var states: [(key: Int64, old: [Value]?, row: [Value]?, isOwn: Bool, write: Write)] = []
        for operation in changeset.operations {
            guard case .int(let key) = operation.object.key else { continue }
            if !states.contains(where: { $0.key == key }) {
                let write = Write(
                    version: version, time: changeset.timestamp.microseconds, client: client, key: key, kind: .update)
                states.append((key, rows[key], rows[key], false, write))
            }
            let position = states.firstIndex { $0.key == key }!
            var state = states[position]
            let concurrent = state.isOwn ? [] : writes.filter { $0.key == key && $0.version > changeset.baseVersion }
            switch operation.action {
            case .delete where state.row == nil: break
            case _ where !state.isOwn && isOfAnother(operation, state.row, state.write, concurrent):
                supersededCount += 1
            case .delete:
                (state.row, state.isOwn, state.write.creates) = (nil, true, false)
                (state.write.assigned, state.write.defaulted) = ([], [])
                (state.write.added, state.write.edited) = ([:], [:])
            case .update where state.row == nil:
                supersededCount += 1
            case .create where state.row == nil:
                if let last = concurrent.last, last.kind == .delete, Self.isEarlier(state.write, last) {
                    supersededCount += 1
                    break
                }
                state.row = [.int(key)] + defaults.dropFirst()
                let isFirst = !state.isOwn
                state.isOwn = true
                state.write.creates = true
                for field in operation.fields {
                    guard case .setDefault(let value) = field.change, !state.write.touches(field.property) else {
                        apply(field, &state.row!, &state.write, [])
                        continue
                    }
                    state.row![field.property] = value
                    state.write.defaulted.insert(field.property)
                }
                // Who deletes an object and creates it again has chosen what it is.
                if !isFirst {
                    state.write.assigned.formUnion(state.write.defaulted)
                    state.write.defaulted = []
                }
            case .create, .update:
                if case .create = operation.action { state.write.creates = true }
                let begin = concurrent.lastIndex { $0.kind != .update } ?? 0
                for field in operation.fields where field.property != 0 {
                    apply(field, &state.row!, &state.write, Array(concurrent[min(begin, concurrent.count)...]))
                }
            }
            states[position] = state
        }
        for var state in states {
            rows[state.key] = state.row
            switch (state.old, state.row) {
            case (nil, nil): continue
            case (nil, _?):
                state.write.kind = .create
                state.write.assigned.formUnion(state.write.added.keys)
                state.write.assigned.formUnion(state.write.edited.keys)
                (state.write.added, state.write.edited) = ([:], [:])
            case (_?, nil): state.write.kind = .delete
            case (let old?, let row?):
                for property in row.indices
                where row[property] != old[property] && !state.write.touches(property) {
                    state.write.assigned.insert(property)
                }
                if !row.indices.contains(where: state.write.touches) { continue }
            }
            writes.append(state.write)
        }
    }

    /// Whether an operation on an object that is there was meant for one that is there no more.
    private func isOfAnother(
        _ operation: ObjectOperation, _ row: [Value]?, _ write: Write, _ concurrent: [Write]
    ) -> Bool {
        guard row != nil, !write.creates else { return false }
        let deletion = concurrent.lastIndex { $0.kind == .delete }
        let since = concurrent[(deletion.map { $0 + 1 } ?? 0)...]
        return switch operation.action {
        case .create: deletion.map { Self.isEarlier(write, concurrent[$0]) } ?? false
        case .update: deletion != nil && !since.contains { $0.client == write.client }
        case .delete: since.contains { ($0.creates || $0.kind == .create) && Self.isEarlier(write, $0) }
        }
    }

    private mutating func apply(
        _ field: FieldOperation, _ row: inout [Value], _ write: inout Write, _ concurrent: [Write]
    ) {
        let property = field.property
        if case .setDefault = field.change {
            let others = concurrent.filter { $0.touches(property) }
            guard !others.isEmpty, !write.assigned.contains(property), !write.defaulted.contains(property),
                others.allSatisfy({ $0.defaulted.contains(property) && !Self.isEarlier(write, $0) })
            else {
                supersededCount += 1
                return
            }
            row[property] = field.change.applied(to: row[property])
            (write.added[property], write.edited[property]) = (nil, nil)
            write.assigned.remove(property)
            write.defaulted.insert(property)
            return
        }
        if case .edit(let edits) = field.change {
            return apply(edits, to: property, &row, &write, concurrent)
        }
        if concurrent.contains(where: { $0.assigned.contains(property) && Self.isEarlier(write, $0) }) {
            supersededCount += 1
            return
        }
        row[property] = field.change.applied(to: row[property])
        if write.defaulted.remove(property) != nil { write.assigned.insert(property) }
        switch field.change {
        case .setDefault: break
        case .set, .clear:
            for other in concurrent where Self.isEarlier(write, other) {
                guard let amount = other.added[property] else { continue }
                row[property] = FieldOperation.Change.add(amount).applied(to: row[property])
            }
            write.assigned.insert(property)
            write.added[property] = nil
            write.edited[property] = nil
        case .edit, .editList: break
        case .add(let amount):
            if let sum = write.added[property] {
                write.added[property] = field.change.applied(to: sum)
            } else if !write.assigned.contains(property) {
                write.added[property] = amount
            }
        }
    }

    private mutating func apply(
        _ edits: ElementEdits, to property: Int, _ row: inout [Value], _ write: inout Write, _ concurrent: [Write]
    ) {
        let assignments = concurrent.filter { $0.assigned.contains(property) }
        // What was edited before an assignment is gone.
        let recent = concurrent.filter { $0.version > assignments.last?.version ?? -1 }
        let isOwn = write.assigned.contains(property) || write.defaulted.contains(property)
        let left = edits.filter { name in
            isOwn
                || !recent.contains { $0.edited[property]?.contains(name) == true && Self.isEarlier(write, $0) }
        }
        let isDiscarded = !isOwn && assignments.contains { counts($0, among: assignments, write) }
        guard !isDiscarded, !left.isEmpty else {
            supersededCount += 1
            return
        }
        row[property] = FieldOperation.Change.edit(left).applied(to: row[property])
        if write.defaulted.remove(property) != nil { write.assigned.insert(property) }
        if !write.assigned.contains(property) { write.edited[property, default: []].formUnion(left.outcomes.keys) }
    }

    /// Whether an assignment discards an edit: one of another, that no later one of the log has outdone.
    private func counts(_ assignment: Write, among assignments: [Write], _ write: Write) -> Bool {
        assignment.client != write.client
            && !assignments.contains { $0.version > assignment.version && !Self.isEarlier($0, assignment) }
    }

    private static func isEarlier(_ write: Write, _ other: Write) -> Bool {
        (write.time, write.client) < (other.time, other.client)
    }
}
