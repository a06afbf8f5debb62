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
        var assigned: Set<Int> = []
        var added: [Int: Value] = [:]
        var edited: [Int: Set<Value>] = [:]
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
            case .delete:
                (state.row, state.isOwn) = (nil, true)
                (state.write.assigned, state.write.added, state.write.edited) = ([], [:], [:])
            case .update where state.row == nil:
                supersededCount += 1
            case .create where state.row == nil:
                if let last = concurrent.last, last.kind == .delete, Self.isEarlier(state.write, last) {
                    supersededCount += 1
                    break
                }
                state.row = [.int(key)] + defaults.dropFirst()
                state.isOwn = true
                for field in operation.fields { apply(field, &state.row!, &state.write, []) }
            case .create, .update:
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
                where row[property] != old[property] && state.write.added[property] == nil
                    && state.write.edited[property] == nil
                {
                    state.write.assigned.insert(property)
                }
                if state.write.assigned.isEmpty && state.write.added.isEmpty && state.write.edited.isEmpty { continue }
            }
            writes.append(state.write)
        }
    }

    private mutating func apply(
        _ field: FieldOperation, _ row: inout [Value], _ write: inout Write, _ concurrent: [Write]
    ) {
        let property = field.property
        if case .edit(let edits) = field.change {
            return apply(edits, to: property, &row, &write, concurrent)
        }
        if concurrent.contains(where: { $0.assigned.contains(property) && Self.isEarlier(write, $0) }) {
            supersededCount += 1
            return
        }
        row[property] = field.change.applied(to: row[property])
        switch field.change {
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
        let isOwn = write.assigned.contains(property)
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
