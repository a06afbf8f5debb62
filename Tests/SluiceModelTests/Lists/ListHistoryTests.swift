import SluiceModel
import TestSupport
import Testing

/// Several people change one list without knowing of each other, learn of everything, and go on.
struct ListHistoryTests {
    static func values(_ names: some Sequence<Int>) -> [Value] { names.map { .int(Int64($0)) } }

    /// A random change of a list: a few values go, come, move or are replaced.
    static func changed(_ values: [Value], _ fresh: inout Int, _ generator: inout SeededGenerator)
        -> [Value]
    {
        var values = values
        for _ in 0..<generator.pick([1, 1, 2, 4]) {
            let position = Int.random(in: 0...values.count, using: &generator)
            let isValue = position < values.count
            switch Int.random(in: 0..<5, using: &generator) {
            case 0 where isValue: values.remove(at: position)
            case 1 where isValue:
                let value = values.remove(at: position)
                values.insert(value, at: Int.random(in: 0...values.count, using: &generator))
            case 2 where isValue:
                fresh += 1
                values[position] = .int(Int64(fresh))
            // Values repeat now and then.
            case 3 where isValue: values.insert(values[position], at: position)
            default:
                fresh += 1
                values.insert(.int(Int64(fresh)), at: position)
            }
        }
        return values
    }

    /// One round: each person changes what is known, with the uploads of all.
    static func round(
        _ list: ElementList, base: UInt64, start: Int64, _ fresh: inout Int,
        _ generator: inout SeededGenerator
    ) throws -> [ListServer.Upload] {
        var times: [Int64] = (1...9).map { start + $0 }
        times.shuffle(using: &generator)
        var uploads: [ListServer.Upload] = []
        for client in 1...3 as ClosedRange<UInt64> {
            var person = ListPerson(client: client << 32 | base, list)
            for time in times.prefix(3).sorted() {
                let values = changed(person.list.values, &fresh, &generator)
                var change = generator.chance(6) ? person.assign(generator.chance(50) ? [] : values) : nil
                if change == nil { change = person.change(to: values, at: time) }
                #expect(person.list.values == values || person.list.values.isEmpty)
                uploads.append(
                    .init(client: person.client, time: time, base: base, changes: [try #require(change)]))
            }
            times.removeFirst(3)
        }
        return uploads
    }

    @Test func historiesEndTheSameInWhateverOrderTheyArrive() throws {
        for seed in 0..<300 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var server = ListServer(Self.values(0..<generator.pick([0, 1, 4, 9])))
            var fresh = 100
            for round in 0..<3 as Range<Int64> {
                let uploads = try Self.round(
                    server.list, base: server.version, start: round * 9, &fresh, &generator)
                var outcomes: [ListServer] = []
                for _ in 0..<4 {
                    var other = server
                    var waiting = Dictionary(grouping: uploads, by: \.client)
                    while let client = waiting.keys.sorted().randomElement(using: &generator) {
                        other.accept(waiting[client]!.removeFirst())
                        if waiting[client]!.isEmpty { waiting[client] = nil }
                    }
                    outcomes.append(other)
                }
                for outcome in outcomes.dropFirst() {
                    guard outcome.list != outcomes[0].list else { continue }
                    Issue.record(
                        "seed \(seed), round \(round): \(outcome.list.values) and \(outcomes[0].list.values)")
                    return
                }
                server = outcomes[0]
            }
        }
    }

    // MARK: Edits

    @Test func aCombinedEditDoesWhatTheTwoDoInTurnAndTheInverseLeadsBack() throws {
        var generator = SeededGenerator(seed: 3)
        var fresh = 100
        for _ in 0..<500 {
            let start = ElementList(Self.values(0..<6))
            var person = ListPerson(client: 7, start)
            guard
                case .edit(let first)? = person.change(
                    to: Self.changed(start.values, &fresh, &generator), at: 1)
            else { continue }
            let middle = person.list
            guard
                case .edit(let second)? = person.change(
                    to: Self.changed(middle.values, &fresh, &generator), at: 2)
            else { continue }
            var combined = first
            combined.append(second)
            var list = start
            list.apply(combined)
            #expect(list == person.list)
            var (back, before) = (person.list, middle)
            back.apply(second.inverse(of: &before))
            #expect(back == middle)
        }
    }

    @Test func manyEditsAtOnceDoWhatTheyDoOneByOne() {
        var generator = SeededGenerator(seed: 4)
        var person = ListPerson(client: 7, ElementList(Self.values(0..<40)))
        let start = person.list
        guard
            case .edit(let edits)? = person.change(
                to: Self.values((0..<60).filter { _ in generator.chance(60) }).shuffled(using: &generator),
                at: 1)
        else { return }
        #expect(edits.count > 20)
        var oneByOne = start
        for (id, outcome) in edits.outcomes { oneByOne.apply(ListEdits([id: outcome])) }
        #expect(oneByOne == person.list)
    }

    @Test func theDifferenceOfTwoListsIsWhatWasDone() throws {
        func count(_ new: [Int]) throws -> [String] {
            let list = ElementList(Self.values(0..<1_000))
            let author = ListEdits.Author(origin: 1, time: 1, ids: ObjectIDGenerator(origin: 1))
            let edits = try #require(ListEdits.difference(from: list, to: Self.values(new), by: author))
            return edits.outcomes.values.map { outcome in
                switch outcome {
                case .erased: "erase"
                case .inserted: "insert"
                case .changed(_?, _): "move"
                case .changed: "set"
                }
            }.sorted()
        }
        let all = Array(0..<1_000)
        #expect(try count(all) == [])
        #expect(try count(all + [-1]) == ["insert"])
        #expect(try count([-1] + all) == ["insert"])
        #expect(try count(all.filter { $0 != 500 }) == ["erase"])
        #expect(try count(all.map { $0 == 500 ? -1 : $0 }) == ["set"])
        #expect(try count(all.filter { $0 != 900 } + [900]) == ["move"])
        #expect(try count([999] + all.dropLast()) == ["move"])
        #expect(try count(Array(all[..<500]) + [-1, -2] + all[502...]) == ["set", "set"])
    }

    // MARK: Places

    @Test func aPlaceCanBeMadeBetweenAnyTwoNeighbours() throws {
        var generator = SeededGenerator(seed: 9)
        var places = (0..<5).map { ElementPlace(index: $0) }
        for number in 1...2_000 {
            let position = Int.random(in: 0...places.count, using: &generator)
            let made = try #require(
                ElementPlace.between(
                    position > 0 ? places[position - 1] : nil,
                    position < places.count ? places[position] : nil,
                    time: Int64(number), origin: UInt64.random(in: 1...3, using: &generator)))
            places.insert(made, at: position)
        }
        #expect(zip(places, places.dropFirst()).allSatisfy { $0 < $1 })
        #expect(places.map(\.steps.count).max() ?? 0 < 40)
    }

    @Test(arguments: [true, false]) func thePlacesOfARowOfInsertsStayShort(forward: Bool) throws {
        var last = ElementPlace(index: 4)
        for number in 1...1_000 {
            let made =
                forward
                ? ElementPlace.between(last, ElementPlace(index: 5), time: Int64(number), origin: 1)
                : ElementPlace.between(ElementPlace(index: 3), last, time: Int64(number), origin: 1)
            last = try #require(made)
        }
        #expect(last.steps.count <= 3)
    }

    @Test(arguments: [.min, -1, 0, .max] as [Int64]) func aPlaceFromElsewhereMayHaveAnyNumbers(number: Int64) throws {
        let mine = ElementPlace.Step(number: 0, time: 1, origin: 1)
        for other in [.min, -5, 5, .max] as [Int64] where other != number {
            let two = [number, other].map { ElementPlace([mine, .init(number: $0, time: 2, origin: 1)]) }.sorted()
            let made = try #require(ElementPlace.between(two[0], two[1], time: 3, origin: 1))
            #expect(two[0] < made && made < two[1])
        }
    }

    @Test func placesThatWouldBeTooLongAreRefused() {
        var (left, right) = (ElementPlace(index: 0), ElementPlace(index: 1))
        var count = 0
        while let made = ElementPlace.between(
            left, right, time: Int64(count + 1), origin: UInt64(count % 2 + 1))
        {
            if count % 2 == 0 { right = made } else { left = made }
            count += 1
            if count > 10_000 { break }
        }
        #expect(count >= ElementPlace.stepCountMax - 1)
        #expect(count <= 10_000)
    }

    // MARK: Work

    /// Two people each made `count` edits, one by one, of a list of `count` elements.
    private func steps(count: Int) throws -> Int {
        let start = ElementList(Self.values(0..<count))
        var server = ListServer(start.values)
        for client in [1, 2] as [UInt64] {
            for number in 0..<count {
                let time = Int64(number) * 2 + Int64(client)
                var edits = ListEdits()
                let element = start.elements[number]
                switch number % 4 {
                case 0: edits.erase(element.id)
                case 1: edits.set(element.id, .int(-1))
                case 2:
                    edits.move(
                        element.id,
                        to: try #require(ElementPlace.between(element.place, nil, time: time, origin: client)))
                default:
                    edits.insert(
                        ObjectID(high: client, low: UInt64(number)),
                        at: try #require(ElementPlace.between(element.place, nil, time: time, origin: client)),
                        .int(-2))
                }
                server.accept(.init(client: client, time: time, changes: [.edit(edits)]))
            }
        }
        return server.list.stepCount + Int(server.trail.stepCount)
    }

    @Test func theStepsOfMergingGrowLittleFasterThanTheEdits() throws {
        let (few, many) = (try steps(count: 500), try steps(count: 2_000))
        #expect(few > 500)
        #expect(many <= few * 6, "\(few) steps for 500, \(many) for 2,000")
    }
}
