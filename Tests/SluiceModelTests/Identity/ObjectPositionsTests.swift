import SluiceModel
import TestSupport
import Testing

struct ObjectPositionsTests {
    private static func object(_ number: Int) -> ObjectRef {
        let text = String(number)
        let key = String(repeating: "0", count: 5 - text.count) + text
        return ObjectRef(number % 2, .string(key))
    }

    /// Runs of ascending objects of all lengths, with single ones between them.
    @Test(arguments: 0..<20) func everyObjectIsFoundWhereItWasAppended(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var positions = ObjectPositions()
        var expected: [ObjectRef: Int] = [:]
        for _ in 0..<random.pick([1, 3, 40]) {
            let start = Int.random(in: 0..<5_000, using: &random)
            let length = random.chance(50) ? Int.random(in: 1...3, using: &random) : random.pick([31, 32, 33, 200])
            for number in (start..<start + length) {
                let object = Self.object(number * 2 + Int(seed % 2))
                #expect(positions[object] == expected[object])
                guard expected[object] == nil else { continue }
                expected[object] = positions.count
                positions.append(object)
            }
        }
        #expect(positions.count == expected.count)
        for number in 0..<12_000 {
            let object = Self.object(number)
            #expect(positions[object] == expected[object], "object \(number)")
        }
    }

    @Test(arguments: 0..<20) func aRangeThatIsOutsideHasNoObjectOfTheList(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var positions = ObjectPositions()
        var all: Set<ObjectRef> = []
        for _ in 0..<random.pick([1, 2, 5]) {
            let start = Int.random(in: 0..<500, using: &random)
            for number in start..<start + random.pick([1, 40, 100]) {
                guard all.insert(Self.object(number * 2)).inserted else { continue }
                positions.append(Self.object(number * 2))
            }
        }
        for _ in 0..<200 {
            let low = Int.random(in: 0..<1_200, using: &random)
            let range = Self.object(low * 2)...Self.object((low + random.pick([0, 3, 50])) * 2)
            if positions.isOutside(range) { #expect(!all.contains(where: range.contains)) }
        }
    }

    @Test func whatAscendsIsOutsideOfWhatComesBeforeAndAfter() {
        var positions = ObjectPositions()
        #expect(positions.isOutside(Self.object(0)...Self.object(8)))
        for number in 100..<200 { positions.append(Self.object(number * 2)) }
        #expect(positions.isOutside(Self.object(0)...Self.object(198)))
        #expect(positions.isOutside(Self.object(400)...Self.object(8_000)))
        #expect(!positions.isOutside(Self.object(0)...Self.object(200)))
        #expect(!positions.isOutside(Self.object(398)...Self.object(400)))
    }
}
