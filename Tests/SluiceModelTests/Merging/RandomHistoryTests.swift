import SluiceModel
import TestSupport
import Testing

/// Several people write without knowing of each other, learn of everything, and write again. Whatever the order in which
/// their transactions arrive, the outcome is that of the rules.
@Suite(.ownThread) struct RandomHistoryTests {
    struct Round {
        var uploads: [MergingServer.Upload]
    }

    /// The property that histories change: a number, a set or a map.
    static let properties = [1, 2, 3]

    static func history(_ property: Int, _ generator: inout SeededGenerator) -> [Round] {
        var time: Int64 = 0
        return (0..<3).map { _ in
            var times: [Int64] = (1...9).map { time + $0 }
            time += 9
            times.shuffle(using: &generator)
            var uploads: [MergingServer.Upload] = []
            for client in 1...3 as ClosedRange<UInt64> {
                for time in times.prefix(3).sorted() {
                    let changes = (0..<generator.pick([0, 1, 1, 2])).map { _ in change(property, &generator) }
                    uploads.append(
                        .init(
                            client: client, time: time,
                            actions: changes.map { .update([FieldOperation(property, $0)]) }))
                }
                times.removeFirst(3)
            }
            return Round(uploads: uploads)
        }
    }

    static func change(_ property: Int, _ generator: inout SeededGenerator) -> FieldOperation.Change {
        let names = ["a", "b", "c", "d"]
        let few = names.filter { _ in generator.chance(40) }
        let others = names.filter { !few.contains($0) && generator.chance(30) }
        let number = Int64.random(in: 1...9, using: &generator)
        func entry(_ key: String) -> ValueMap.Entry { .init(key: key, value: .string("\(number)")) }
        switch property {
        case 1: return generator.chance(30) ? .set(.int(number)) : .add(.int(number))
        case 2:
            if generator.chance(10) { return .set(.set(of: few.map { .string($0) })) }
            if generator.chance(10) { return .clear }
            return .edit(
                ElementEdits(inserting: few.map { .string($0) }, erasing: others.map { .string($0) }))
        default:
            if generator.chance(10) {
                return .set(.map(ValueMap(few.map { ($0, .string("\(number)")) })))
            }
            if generator.chance(10) { return .clear }
            return .edit(ElementEdits(setting: few.map(entry), erasing: others))
        }
    }

    // MARK: What the rules say

    /// The value after a round, found from all changes at once.
    static func outcome(_ value: Value, _ round: Round, _ property: Int) -> Value {
        var writes: [(time: Int64, client: UInt64, change: FieldOperation.Change)] = []
        for upload in round.uploads {
            for case .update(let fields) in upload.actions {
                writes += fields.map { (upload.time, upload.client, $0.change) }
            }
        }
        // Those of one transaction have one time, and stay in their order.
        writes = writes.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }.map(\.element)
        let winner = writes.lastIndex { $0.change.isAssignment }
        guard let winner else { return writes.reduce(value) { $1.change.applied(to: $0) } }
        let assigned = writes[winner]
        return writes[(winner + 1)...].reduce(assigned.change.applied(to: value)) { value, write in
            if case .edit = write.change, write.client != assigned.client { return value }
            return write.change.applied(to: value)
        }
    }

    static func server(_ property: Int) throws -> MergingServer {
        var server = try MergingServer()
        server.accept(.init(client: 9, time: 0, actions: [.create([])]))
        return server
    }

    /// What is wrong when a history arrives in an order that a seed picks; nil if nothing is.
    static func problem(_ history: [Round], _ property: Int, seed: UInt64) throws -> String? {
        var generator = SeededGenerator(seed: seed)
        var server = try server(property)
        var expected = server.row?.values[property] ?? .null
        for round in history {
            let base = server.version
            var waiting = Dictionary(grouping: round.uploads, by: \.client)
            while let client = waiting.keys.sorted().randomElement(using: &generator) {
                var upload = waiting[client]!.removeFirst()
                if waiting[client]!.isEmpty { waiting[client] = nil }
                upload.base = base
                server.accept(upload)
            }
            expected = outcome(expected, round, property)
            let actual = server.row?.values[property]
            if actual != expected {
                return "\(actual.map(\.description) ?? "nothing") instead of \(expected)"
            }
        }
        return nil
    }

    /// The history without what its failing does not need.
    static func shrunk(_ history: [Round], _ property: Int, seeds: Range<UInt64>) throws -> [Round] {
        func fails(_ history: [Round]) throws -> Bool {
            try seeds.contains { try problem(history, property, seed: $0) != nil }
        }
        var history = history
        var round = 0
        while round < history.count {
            var upload = 0
            while upload < history[round].uploads.count {
                var smaller = history
                smaller[round].uploads.remove(at: upload)
                if try fails(smaller) { history = smaller } else { upload += 1 }
            }
            round += 1
        }
        return history.filter { !$0.uploads.isEmpty }
    }

    @Test(arguments: properties) func historiesConvergeToWhatTheRulesSayInAnyOrder(_ property: Int)
        throws
    {
        for seed in 0..<400 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let history = Self.history(property, &generator)
            let orders = seed * 10..<seed * 10 + 5
            guard
                let order = try orders.first(where: { try Self.problem(history, property, seed: $0) != nil }
                )
            else {
                continue
            }
            let small = try Self.shrunk(history, property, seeds: order..<order + 1)
            let problem = try Self.problem(small, property, seed: order) ?? ""
            let text = small.flatMap(\.uploads).map { "client \($0.client) at \($0.time): \($0.actions)" }
            Issue.record("seed \(seed), order \(order): \(problem)\n\(text.joined(separator: "\n"))")
            return
        }
    }

    /// Several people create one object without knowing of each other. What somebody has chosen counts, whatever the
    /// times; a default counts where nobody has.
    @Test func creationsConvergeToWhatSomebodyChoseInAnyOrder() throws {
        for seed in 0..<300 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var times = Array(1...9 as ClosedRange<Int64>)
            times.shuffle(using: &generator)
            var uploads: [MergingServer.Upload] = []
            var chosen: [(time: Int64, change: FieldOperation.Change)] = []
            for client in 1...3 as ClosedRange<UInt64> {
                let own = times.prefix(2).sorted()
                times.removeFirst(2)
                let value = Value.int(Int64(client) * 100)
                let isDefault = generator.chance(60)
                uploads.append(
                    .init(
                        client: client, time: own[0],
                        actions: [.create([FieldOperation(1, isDefault ? .setDefault(.int(7)) : .set(value))])]))
                if !isDefault { chosen.append((own[0], .set(value))) }
                guard generator.chance(50) else { continue }
                let change = generator.chance(50) ? FieldOperation.Change.add(.int(1)) : .set(.int(Int64(client)))
                uploads.append(.init(client: client, time: own[1], actions: [.update([FieldOperation(1, change)])]))
                chosen.append((own[1], change))
            }
            chosen.sort { $0.time < $1.time }
            let last = chosen.lastIndex { $0.change.isAssignment } ?? 0
            let expected = chosen[min(last, chosen.count)...].reduce(Value.int(7)) { $1.change.applied(to: $0) }
            for order in deliveries(of: uploads) {
                var server = try MergingServer()
                for upload in order { server.accept(upload) }
                #expect(server.row?.values[1] == expected, "seed \(seed): \(order)")
            }
        }
    }

    @Test func whatAFailureDoesNotNeedIsLeftOut() throws {
        // A rule that never holds, to see that shrinking ends with the one upload that breaks it.
        let good = MergingServer.Upload(
            client: 1, time: 1, actions: [.update([FieldOperation(1, .add(.int(1)))])])
        let bad = MergingServer.Upload(client: 2, time: 2, actions: [.delete])
        let history = [Round(uploads: [good, bad, good]), Round(uploads: [good])]
        #expect(try Self.problem(history, 1, seed: 0) != nil)
        let small = try Self.shrunk(history, 1, seeds: 0..<1)
        #expect(small.flatMap(\.uploads).map(\.client) == [2])
    }

    // MARK: Work

    /// Two people edited the same few elements `count` times each; their edits arrive one after the other.
    private func steps(count: Int) throws -> UInt64 {
        var server = try Self.server(2)
        let base = server.version
        for client in [1, 2] as [UInt64] {
            for number in 0..<count {
                let name = Value.string("\(number % 8)")
                let edits =
                    number % 3 == 0
                    ? ElementEdits(inserting: [], erasing: [name]) : ElementEdits(inserting: [name])
                server.accept(
                    .init(
                        client: client, time: Int64(number) * 2 + Int64(client), base: base,
                        actions: [.update([FieldOperation(2, .edit(edits))])]))
            }
        }
        return server.trail.stepCount
    }

    @Test func theStepsOfMergingEditsGrowLikeTheirNumber() throws {
        let (few, many) = (try steps(count: 2_000), try steps(count: 8_000))
        #expect(few > 2_000)
        #expect(many <= few * 5)
    }
}
