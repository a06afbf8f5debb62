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
}
