import SluiceModel
import Testing

@testable import SluiceWire

/// PROTOCOL.md, section 4: what comes after a run differs from the run's first element.
struct ListRunTests {
    private static func place(_ steps: ElementPlace.Step...) -> ElementPlace { ElementPlace(steps) }

    @Test func whatFollowsARunIsWrittenAsTheDifferenceFromItsFirstElement() throws {
        let first = ElementPlace.Step(number: 0, time: 5, origin: 7)
        let identity = ListIdentity(runs: [
            .init(firstID: ObjectID(high: 7, low: 100), firstPlace: Self.place(first), distance: 4, count: 3),
            .init(
                firstID: ObjectID(high: 7, low: 200), firstPlace: Self.place(first, .init(number: 3)), distance: 0,
                count: 1),
        ])
        let bytes = identity.wireBytes()
        let expected: [UInt8] = [
            // One origin, the seven.
            1, 7, 0, 0, 0, 0, 0, 0, 0,
            // Two runs.
            2,
            // The id: origin 1, 100 as a zigzag. The place: one step, with number 0, origin 1 and time 5. Three elements, at a
            // distance of 4.
            1, 0xC8, 0x01, 0, 1, 0, 1, 10, 3, 8,
            // The id: 100 above the first of the run. The place: the first step of the run's first place, and a step with
            // number 3. One element.
            1, 0xC8, 0x01, 1, 1, 6, 0, 1,
        ]
        #expect(bytes == expected)
        #expect(try ListIdentity(wireBytes: expected) == identity)
    }
}
