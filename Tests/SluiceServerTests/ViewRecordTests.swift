import SluiceModel
import TestSupport
import Testing

@testable import SluiceServer

/// What a view has cost is exact, in whichever form it is held.
struct ViewRecordTests {
    @Test(arguments: UInt64(1)...5) func aRecordCountsAsTheCostAlone(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let steps = generator.pick([1, 200, 1 << 20, 1 << 33])
        var record = ViewRecord()
        var cost = ViewCost()
        var digest: ObjectID??
        for step in 0..<2_000 {
            func count(_ change: (inout ViewCost) -> Void) {
                change(&record.cost)
                change(&cost)
            }
            let number = Int.random(in: 0..<steps, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: count { $0.noteFound(took: Int64(number)) }
            case 1: count { $0.noteSent(byteCount: number) }
            case 2: count { $0.notePage(byteCount: number) }
            case 3: count { $0.noteBootstrap(took: Int64(number)) }
            case 4: digest = .some(generator.chance(50) ? nil : ObjectID(high: 1, low: UInt64(step)))
            default: digest = nil
            }
            record.digest = digest
            #expect(record.digest == digest, "seed \(seed), step \(step)")
            #expect(values(record.cost) == values(cost), "seed \(seed), step \(step)")
        }
    }

    private func values(_ cost: ViewCost) -> [UInt64] {
        [
            cost.foundCount, cost.applyingTime, cost.sentByteCount, cost.bootstrapCount, cost.bootstrapTime,
            cost.sentPageCount,
        ]
    }
}
