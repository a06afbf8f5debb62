import SluiceModel

/// What the rules of `docs/editing-together.md` say of all transactions of a round at once, in no order of arrival: an
/// oracle for ``MergingServer``, which has them one after the other.
struct ObjectRules {
    private enum Part {
        case deletion
        /// A creation, which is the author's `lineage`th.
        case creation(lineage: Int, [FieldOperation])
        case change(lineage: Int, [FieldOperation])
    }

    private struct Event {
        var time: Int64
        var client: UInt64
        var part: Part
    }

    private struct Write {
        var client: UInt64
        var change: FieldOperation.Change
    }

    private struct Lineage: Hashable {
        var client: UInt64
        var number: Int
    }

    private let events: [Event]

    /// - Parameter uploads: those of each author in the author's order.
    init(_ uploads: [MergingServer.Upload]) {
        var events: [Event] = []
        var counts: [UInt64: Int] = [:]
        for upload in uploads {
            func note(_ part: Part) { events.append(Event(time: upload.time, client: upload.client, part: part)) }
            let kept = upload.actions.lastIndex(of: .delete) ?? 0
            for action in upload.actions[kept...] {
                switch action {
                case .delete: note(.deletion)
                case .create(let fields):
                    counts[upload.client, default: 0] += 1
                    note(.creation(lineage: counts[upload.client] ?? 0, fields))
                case .update(let fields): note(.change(lineage: counts[upload.client] ?? 0, fields))
                }
            }
        }
        // Those of one transaction stay in their order.
        self.events = events.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }.map(\.element)
    }

    /// The values after the round; nil if there is no object.
    ///
    /// - Parameter former: the values before it, which everybody knew.
    func outcome(_ former: [Value]?, defaults: [Value]) -> [Value]? {
        let lastDeletion = events.lastIndex { if case .deletion = $0.part { true } else { false } }
        var alive: Set<Lineage> = []
        if former != nil, lastDeletion == nil {
            for client in Set(events.map(\.client)) { alive.insert(Lineage(client: client, number: 0)) }
        }
        // Who knew of a creation has known all earlier ones of the same author.
        for (place, event) in events.enumerated() {
            guard case .creation(let number, _) = event.part else { continue }
            if place > lastDeletion ?? -1 { alive.insert(Lineage(client: event.client, number: number)) }
        }
        let isFormer = former != nil && lastDeletion == nil
        let isCreated = alive.contains { $0.number > 0 }
        guard isFormer || isCreated else { return nil }
        let ground = isFormer ? former ?? defaults : defaults
        return ground.indices.map { value(of: $0, ground[$0], alive, isNew: !isFormer) }
    }

    private func value(of property: Int, _ ground: Value, _ alive: Set<Lineage>, isNew: Bool) -> Value {
        var ground = ground
        var writes: [Write] = []
        for event in events {
            func isAlive(_ number: Int) -> Bool { alive.contains(Lineage(client: event.client, number: number)) }
            switch event.part {
            case .deletion: break
            case .creation(let number, let fields), .change(let number, let fields):
                guard (0...number).contains(where: isAlive) else { continue }
                // An object that its author has made already has values.
                let isFirst = !(0..<number).contains(where: isAlive)
                for field in fields where field.property == property {
                    if case .setDefault(let value) = field.change {
                        // A default is of a creation.
                        if isNew, isFirst, case .creation = event.part { ground = value }
                    } else {
                        writes.append(Write(client: event.client, change: field.change))
                    }
                }
            }
        }
        guard let winner = writes.lastIndex(where: { $0.change.isAssignment }) else {
            return writes.reduce(ground) { $1.change.applied(to: $0) }
        }
        let assigned = writes[winner]
        return writes[(winner + 1)...].reduce(assigned.change.applied(to: ground)) { value, write in
            if case .edit = write.change, write.client != assigned.client { return value }
            return write.change.applied(to: value)
        }
    }
}
