import SluiceModel
import TestSupport
import Testing

/// Several people delete one object, create it again and change it without knowing of each other, in one transaction or
/// in several. Whatever the order in which their transactions arrive, the outcome is that of the rules.
@Suite(.ownThread) struct RecreationHistoryTests {
    static let seeds = 0..<300 as Range<UInt64>

    static func history(
        rounds: Int, clients: Int, uploads: ClosedRange<Int>, _ generator: inout SeededGenerator
    ) -> [[MergingServer.Upload]] {
        var time: Int64 = 0
        return (0..<rounds).map { round in
            var times = (1...30 as ClosedRange<Int64>).map { time + $0 }.shuffled(using: &generator)
            time += 30
            var round: [MergingServer.Upload] = []
            for client in 1...UInt64(clients) {
                let count = Int.random(in: uploads, using: &generator)
                for time in times.prefix(count).sorted() {
                    round.append(.init(client: client, time: time, actions: actions(&generator)))
                }
                times.removeFirst(count)
            }
            return round
        }
    }

    static func actions(_ generator: inout SeededGenerator) -> [ObjectOperation.Action] {
        var actions: [ObjectOperation.Action] = []
        for _ in 0..<generator.pick([1, 1, 1, 2, 2, 3]) {
            // Nobody creates what the same transaction has seen.
            let mayCreate = actions.last.map { $0 == .delete } ?? true
            switch generator.pick([0, 0, 1, 1, 2, 2, 2]) {
            case 0: actions.append(.delete)
            case 1 where mayCreate: actions.append(.create(creation(&generator)))
            default: actions.append(.update((0..<generator.pick([1, 1, 2])).map { _ in change(&generator) }))
            }
        }
        return actions
    }

    static func creation(_ generator: inout SeededGenerator) -> [FieldOperation] {
        var fields: [FieldOperation] = []
        for property in 1...3 where generator.chance(70) {
            let isDefault = generator.chance(50)
            switch property {
            case 1:
                // Programs may differ in what the default is.
                let number = Value.int(Int64.random(in: 0...3, using: &generator))
                fields.append(FieldOperation(1, isDefault ? .setDefault(number) : .set(number)))
            case 2:
                let tags = Value.set(isDefault ? [] : [.string(generator.pick(["a", "b"]))])
                fields.append(FieldOperation(2, isDefault ? .setDefault(tags) : .set(tags)))
            default:
                let entries = isDefault ? [] : [(generator.pick(["a", "b"]), Value.string("0"))]
                let marks = Value.map(ValueMap(entries))
                fields.append(FieldOperation(3, isDefault ? .setDefault(marks) : .set(marks)))
            }
        }
        // What the author does to the new object in the same transaction.
        return generator.chance(40) ? fields.folding([change(&generator)]) : fields
    }

    static func change(_ generator: inout SeededGenerator) -> FieldOperation {
        let property = Int.random(in: 1...3, using: &generator)
        return FieldOperation(property, RandomHistoryTests.change(property, &generator))
    }

    static let defaults = MergingServer.properties.map(\.defaultValue)

    /// What is wrong when the rounds of a history arrive one after the other, each in an order that is given by `pick`;
    /// nil if nothing is.
    static func problem(
        _ history: [[MergingServer.Upload]], restarts: (Int) -> Bool = { _ in false },
        order: ([MergingServer.Upload]) -> [MergingServer.Upload]
    ) throws -> String? {
        var server = try MergingServer()
        var expected: [Value]?
        for round in history {
            let base = server.version
            for (place, var upload) in order(round).enumerated() {
                upload.base = base
                server.accept(upload)
                if restarts(place) { server.restart() }
            }
            expected = ObjectRules(round).outcome(expected, defaults: defaults)
            let actual = server.row.map { Array($0.values.dropFirst()) }
            guard actual == expected.map({ Array($0.dropFirst()) }) else {
                return "\(actual.map { "\($0)" } ?? "nothing") instead of \(expected.map { "\($0)" } ?? "nothing")"
            }
        }
        return nil
    }

    static func delivery(_ round: [MergingServer.Upload], seed: UInt64) -> [MergingServer.Upload] {
        var generator = SeededGenerator(seed: seed)
        var waiting = Dictionary(grouping: round, by: \.client)
        var order: [MergingServer.Upload] = []
        while let client = waiting.keys.sorted().randomElement(using: &generator) {
            order.append(waiting[client]!.removeFirst())
            if waiting[client]!.isEmpty { waiting[client] = nil }
        }
        return order
    }

    /// The history without what its failing does not need.
    static func shrunk(
        _ history: [[MergingServer.Upload]], where fails: ([[MergingServer.Upload]]) throws -> Bool
    ) throws -> [[MergingServer.Upload]] {
        var history = history
        for round in history.indices {
            var upload = 0
            while upload < history[round].count {
                var smaller = history
                smaller[round].remove(at: upload)
                if try fails(smaller) {
                    history = smaller
                    continue
                }
                var action = 0
                while history[round][upload].actions.count > 1, action < history[round][upload].actions.count {
                    var smaller = history
                    smaller[round][upload].actions.remove(at: action)
                    if try fails(smaller) { history = smaller } else { action += 1 }
                }
                upload += 1
            }
        }
        return history
    }

    static func text(_ history: [[MergingServer.Upload]]) -> String {
        history.enumerated().flatMap { round, uploads in
            uploads.map { "round \(round), client \($0.client) at \($0.time): \($0.actions)" }
        }.joined(separator: "\n")
    }

    /// Every order in which the transactions of one round can arrive.
    @Test(arguments: [(2, 1...3), (3, 1...2), (4, 1...1)] as [(Int, ClosedRange<Int>)])
    func everyOrderOfArrivalHasTheOutcomeOfTheRules(clients: Int, uploads: ClosedRange<Int>) throws {
        for seed in Self.seeds {
            var generator = SeededGenerator(seed: seed)
            var history = Self.history(rounds: 1, clients: clients, uploads: uploads, &generator)
            // Half of the objects are there before.
            if generator.chance(50) {
                history.insert([.init(client: 9, time: 0, actions: [.create(Self.creation(&generator))])], at: 0)
            }
            func problem(_ history: [[MergingServer.Upload]]) throws -> (String, [MergingServer.Upload])? {
                for order in deliveries(of: history.last ?? []) {
                    let problem = try Self.problem(history) { $0.count == order.count ? order : $0 }
                    if let problem { return (problem, order) }
                }
                return nil
            }
            guard try problem(history) != nil else { continue }
            let small = try Self.shrunk(history) { try problem($0) != nil }
            guard let (problem, order) = try problem(small) else { continue }
            Issue.record("seed \(seed): \(problem)\n\(Self.text(small.dropLast() + [order]))")
            return
        }
    }

    /// A deletion can spare a creation that its own author has undone before, where an earlier deletion could not undo it
    /// alone.
    @Test func nothingIsLeftOfCreationsThatTwoDeletionsUndoTogether() throws {
        var server = try MergingServer()
        func accept(_ client: UInt64, knowing base: UInt64, at time: Int64, _ action: ObjectOperation.Action) {
            var upload = MergingServer.Upload(client: client, time: time, actions: [action])
            upload.base = base
            server.accept(upload)
        }
        accept(2, knowing: 0, at: 209, .create([]))
        // A clock contradicts what is known.
        accept(1, knowing: 1, at: 155, .create([]))
        accept(3, knowing: 0, at: 199, .create([]))
        accept(3, knowing: 0, at: 205, .delete)
        accept(1, knowing: 1, at: 182, .delete)
        #expect(server.row == nil)
        // Nor does anything of it come back.
        accept(2, knowing: 1, at: 210, .update([FieldOperation(1, .add(.int(1)))]))
        #expect(server.row == nil)
    }

    /// Rounds after which everybody knows everything, in orders that a seed picks, with a server that is started again now
    /// and then.
    @Test func longHistoriesHaveTheOutcomeOfTheRules() throws {
        for seed in Self.seeds {
            var generator = SeededGenerator(seed: seed)
            let history = Self.history(rounds: 3, clients: 4, uploads: 0...4, &generator)
            for order in seed * 10..<seed * 10 + 4 {
                func problem(_ history: [[MergingServer.Upload]]) throws -> String? {
                    try Self.problem(history, restarts: { $0 % 3 == Int(seed % 5) }) {
                        Self.delivery($0, seed: order)
                    }
                }
                guard try problem(history) != nil else { continue }
                let small = try Self.shrunk(history) { try problem($0) != nil }
                let text = Self.text(small.map { Self.delivery($0, seed: order) })
                Issue.record("seed \(seed), order \(order): \(try problem(small) ?? "")\n\(text)")
                return
            }
        }
    }
}
