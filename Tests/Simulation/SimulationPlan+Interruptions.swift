import SluiceModel
import TestSupport

/// Readers that pause, and queries that are stopped while something is on its way to them.
extension SimulationPlan {
    /// Whether a plan has them. Not drawn from the plan's generator, so that old seeds keep their meaning; nor are they
    /// in the seeds that tests name.
    static func interrupts(_ seed: UInt64) -> Bool { [2, 7, 8].contains(seed % 10) }

    /// Adds them at random places.
    ///
    /// - Parameter writerCount: how many of the clients write, the first ones.
    static func insertInterruptions(
        into actions: inout [SimulationAction], seed: UInt64, _ options: SimulationOptions, writerCount: Int
    ) {
        var generator = SeededGenerator(seed: seed ^ 0x1E77)
        for _ in 0..<max(2, actions.count / 12) {
            let reader = generator.below(options.clientCount)
            var kinds: [(SimulationAction.Kind, Int)] = []
            func add(_ kind: SimulationAction.Kind, by client: Int) { kinds.append((kind, client)) }
            switch generator.below(4) {
            case 0:
                add(.stopAmidPages, by: reader)
            case 1:
                add(.stopAmidCommit, by: reader)
            default:
                add(.pauseReading, by: reader)
                for _ in 0..<(1 + generator.below(3)) {
                    let kind = generator.pick(
                        [.replace, .replace, .write, .serverWrite] as [SimulationAction.Kind])
                    add(kind == .serverWrite && !options.hasBackend ? .write : kind, by: generator.below(writerCount))
                    add(.deliverMuch, by: 0)
                }
                add(.goOnReading, by: reader)
            }
            let herd = kinds.map { SimulationAction(kind: $0, client: $1, seed: generator.next()) }
            actions.insert(contentsOf: herd, at: generator.below(actions.count + 1))
        }
    }

    /// Whether a server with rules, or with a backend, is several nodes too: from 13,000,000 on.
    static func hasNodesWithRules(_ seed: UInt64) -> Bool { seed >= 13_000_000 }

    /// Adds trims of the journal that nodes share in half of the seeds, and forks where programs and readers allow it.
    static func disturbJournal(
        _ actions: inout [SimulationAction], _ options: inout SimulationOptions, seed: UInt64, evolves: Bool
    ) {
        // Old seeds keep their meaning.
        options.delaysGroups = seed >= 12_000_000
        var generator = SeededGenerator(seed: seed ^ 0xF04C)
        func add(_ kind: SimulationAction.Kind, _ countMax: Int) {
            for _ in 0...generator.below(countMax) {
                let action = SimulationAction(kind: kind, client: 0, seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        if seed / 12 % 2 == 0 { add(.trimJournal, 4) }
        // As with backups, not where a write needs a class or a property that its author does not declare.
        guard !evolves, options.limitedClientCount == 0, !options.lastClientLearnsSchema else { return }
        options.forksJournal = true
        options.nodeCount = seed / 24 % 2 == 0 ? 2 : 3
        // Of what the server has lost it is not known what it would have rejected.
        options.operationCountMax = 100_000
        add(.forkJournal, 3)
    }

    /// Adds times in which rights change at a node, and others that do not know it go on to serve what they have.
    static func insertLags(into actions: inout [SimulationAction], seed: UInt64, _ options: SimulationOptions) {
        var generator = SeededGenerator(seed: seed ^ 0x1A6)
        for _ in 0..<5 {
            var kinds: [SimulationAction.Kind] = [.plugIn, .logIn, .plugIn, .logIn, .plugIn, .logIn]
            kinds += generator.chance(40) ? [.gatherClasses] : [.stopToken, .stopToken, .stopToken, .stopToken]
            kinds += [.deliverMuch, .deliverMuch, .deliverMuch, .lagNodes]
            // What the others follow later is of before and of after.
            kinds += generator.pick([
                [.deploy], [.write, .write, .deliver, .deliver, .deliver, .deploy, .write, .deliver],
                [.changeClaims, .write, .write],
            ])
            kinds += generator.pick([[.gather, .gather, .gather], [.gatherClasses], [.gatherClasses]])
            kinds += [.deliverMuch, .deliverMuch, .write, .deliver, .deliverMuch, .catchUpNodes, .deliverMuch]
            let herd = kinds.map {
                SimulationAction(kind: $0, client: generator.below(options.clientCount), seed: generator.next())
            }
            actions.insert(contentsOf: herd, at: generator.below(actions.count + 1))
        }
    }
}
