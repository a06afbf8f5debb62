import SluiceModel
import TestSupport

/// One action of a simulation. Its own seed determines its details, so that any subset of a plan's actions is a plan
/// too.
package struct SimulationAction: Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// A local transaction.
        case write
        /// A local transaction whose body throws half-way.
        case abandonWrite
        case observe, stopToken, stopSyncing
        /// All clients observe one query.
        case gather
        /// All clients observe all objects of each class.
        case gatherClasses
        /// A client observes a hundred queries of all kinds.
        case crowd
        /// A task waits until a query is complete, and gives up the wait.
        case hold, releaseHold
        /// An observer does not say that it is ready, and later does.
        case lag, catchUp
        case purgeUnsubscribed
        case startSync, stopSync
        /// Some steps of the network and the server.
        case deliver
        /// Many steps of the network and the server.
        case deliverMuch
        /// The next timer fires.
        case advance
        /// Time passes until the next date passes for a query with `$now`.
        case passTime
        /// The client's connection breaks; frames in transit are lost.
        case cut
        /// The client has no network until it is plugged in again.
        case unplug, plugIn
        case crashClient, crashServer
        /// The server handles a batch, and crashes before it has sent anything.
        case crashServerAfterHandling
        /// The client handles a frame, and crashes before it has sent anything.
        case crashClientAfterHandling
        /// The server drops old log entries.
        case trimLog
        /// The client's program is replaced by its next version, with or without a restart.
        case evolve
        /// The server gets other rules.
        case deploy
        /// The next token of the client's user says something else.
        case changeClaims
        /// What the client's user has logged in to ends.
        case revoke
        /// Time passes until tokens expire.
        case expire
        /// The client gets credentials that hold.
        case logIn
        /// The client gets the credentials of another user.
        case impersonate
        /// The server's own process writes.
        case serverWrite
        /// The server's file is copied, and the last copy is put back while the server is down.
        case backUp, putBack
        /// The journal of several nodes loses its last groups, as one that was restored or has failed over.
        case forkJournal
        /// The journal of several nodes loses its first groups, once a snapshot has them.
        case trimJournal
        /// Some of several nodes do not follow the journal unless they append to it, and later all do.
        case lagNodes, catchUpNodes
        /// The client does not read what arrives, and later reads all of it at once.
        case pauseReading, goOnReading
        /// An object is deleted, and in a later transaction one with its key is created.
        case replace
        /// A client stops a query while pages of it are on their way, or a commit that changes what it has.
        case stopAmidPages, stopAmidCommit
        /// A consumer, a worker or a schedule begins, goes on for some steps, or is killed where it stands.
        case startJob, stepJobs, killJob
    }

    package var kind: Kind
    package var client: Int
    package var seed: UInt64

    package var description: String { "\(kind.rawValue) client \(client) seed \(seed)" }

    static let weights: [(Kind, Int)] = [
        (.write, 60), (.abandonWrite, 2), (.observe, 16), (.stopToken, 12), (.stopSyncing, 3), (.hold, 3),
        (.releaseHold, 3), (.lag, 4), (.catchUp, 4), (.purgeUnsubscribed, 3), (.startSync, 3), (.stopSync, 2),
        (.deliver, 120), (.deliverMuch, 2), (.advance, 14), (.cut, 6), (.unplug, 3), (.plugIn, 4), (.crashClient, 3),
        (.crashServer, 2),
        (.crashServerAfterHandling, 2), (.crashClientAfterHandling, 2), (.trimLog, 3),
    ]

    /// Weights for what happens besides where there are rules.
    static let ruledWeights: [(Kind, Int)] = [
        (.deploy, 15), (.changeClaims, 15), (.revoke, 8), (.expire, 6), (.logIn, 40), (.impersonate, 4), (.write, 30),
    ]

    /// Weights for clients that keep their subscriptions, and go and come back while others write.
    static let returningWeights: [(Kind, Int)] = [
        (.write, 50), (.abandonWrite, 1), (.observe, 16), (.stopToken, 3), (.stopSyncing, 1), (.hold, 1),
        (.releaseHold, 1), (.lag, 2), (.catchUp, 3), (.purgeUnsubscribed, 1), (.startSync, 10), (.stopSync, 8),
        (.deliver, 10), (.deliverMuch, 50), (.advance, 20), (.cut, 12), (.unplug, 6), (.plugIn, 16), (.crashClient, 3),
        (.crashServer, 2), (.crashServerAfterHandling, 1), (.crashClientAfterHandling, 1), (.trimLog, 3),
    ]
}

/// Everything that a simulation does, generated from one seed.
package struct SimulationPlan: Sendable {
    package let seed: UInt64
    package var options: SimulationOptions
    package var actions: [SimulationAction]

    /// - Parameter actionCount: the number of actions. A shorter plan is not a prefix of a longer one.
    package init(seed: UInt64, actionCount: Int = 150) {
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        var options = SimulationOptions()
        options.clientCount = generator.pick([1, 2, 2, 3, 3, 4])
        options.usesFiles = generator.chance(15)
        options.pageRowCount = generator.pick([1, 2, 3, 5, 100])
        options.groupOperationCountMax = generator.pick([1, 5, 20_000])
        options.replayObjectCountMax = generator.pick([0, 3, 20_000, 20_000])
        options.comparedMemberCountMax = generator.pick([4, 500_000, 500_000])
        options.listedMemberCountMax = generator.pick([1, 2, 10_000])
        options.clockSkewMax = generator.pick([0, 0, 5_000, 50_000_000])
        options.lastClientLearnsSchema = options.clientCount > 1 && generator.chance(20)
        options.queryCount = generator.pick([2, 4, 8, 12])
        options.operationCountMax = generator.pick([100_000, 100_000, 100_000, 2])
        let isReturning = generator.chance(50)
        let weights = isReturning ? SimulationAction.returningWeights : SimulationAction.weights
        if isReturning { options.queryCount = generator.pick([2, 3, 5]) }
        // Not drawn from the generator, so that old seeds keep their meaning.
        if seed % 2 == 0 { options.shareStepCountMax = 200 }
        if seed % 3 != 0 { options.askedObserverCountMax = 0 }
        if seed % 4 != 3 { options.windowSurplus = Int(seed % 4) }
        if seed / 7 % 2 == 0 { options.quickAnswerTime = .seconds(10) }
        options.followerSeed = seed ^ 0xF0110
        options.incompleteCountMax = [64, 1, 3][Int(seed / 11 % 3)]
        options.digestObjectCountMax = [1_000, 0, 3][Int(seed / 19 % 3)]
        options.objectCountBeside = [3, 1, 100][Int(seed / 5 % 3)]
        options.pagesPerReading = [4, 1, 2][Int(seed / 17 % 3)]
        if seed / 51 % 3 == 1 { options.readAheadReceiverCountMax = 1 }
        options.bulkRowCountMin = [1, 2, .max][Int(seed / 7 % 3)]
        // Nor this: in some seeds clocks are hours off.
        if seed % 13 == 6 { options.clockSkewMax = 4 * 3_600_000_000 }
        // Nor this: every third seed has programs of several versions.
        let evolves = seed % 3 == 0
        // Nor this: in every fifth seed a herd comes to the same query.
        let gathers = seed % 5 == 1
        if gathers {
            options.clientCount += 3
            options.objectCountBeside = 1
            options.pageRowCount = seed % 4 < 2 ? 1 : 2
            options.sharedPageByteCount = seed % 2 == 0 ? 1 : 32 << 20
        }
        // Nor this: in some seeds clients have hundreds of subscriptions. A step takes long then, so there are fewer.
        let crowds = seed % 23 == 5
        if crowds { options.queryCount = 300 }
        let actionCount = crowds ? min(actionCount, 40) : actionCount
        let writerCount = gathers ? options.clientCount - 3 : options.clientCount
        // Nor this: in every fourth seed somebody may not read everything.
        let limits = seed % 4 == 1
        if limits {
            options.limitedClientCount = 1 + Int(seed / 4 % 2)
            options.clientCount += options.limitedClientCount
            options.lastClientLearnsSchema = false
        }
        // Nor this: in every fourth seed there are rules and users.
        let isRuled = seed % 4 == 3
        if isRuled {
            options.isRuled = true
            options.hasGenerousRules = seed % 20 > 11 || Self.hasNodesWithRules(seed) && seed % 20 > 3
            options.tokenLifetime = seed % 8 == 3 ? 20_000_000 : nil
            options.clientCount = max(2, options.clientCount)
            // Many changes of rights are found beside the writer, which takes a file.
            if seed % 12 < 8 { options.usesFiles = true }
            options.contextStepCountMax = seed % 8 == 3 ? 0 : 100
        }
        // Nor this: in every fifth seed many views are brought up to date beside the writer.
        if seed % 5 == 2 {
            options.usesFiles = true
            options.followStepCountMax = seed % 2 == 0 ? 0 : 300
        }
        self.options = options
        var actions: [SimulationAction] = []
        for _ in 0..<actionCount {
            actions.append(
                SimulationAction(
                    kind: generator.pick(weighted: weights),
                    client: generator.below(writerCount), seed: generator.next()))
        }
        if gathers {
            var generator = SeededGenerator(seed: seed ^ 0x6A74)
            for _ in 0..<generator.pick([3, 5, 8]) {
                var herd = [SimulationAction(kind: .gather, client: 0, seed: generator.next())]
                // Writes meet clients that have taken some of their pages.
                for kind in [.deliverMuch, .write, .deliver, .write, .gather, .deliver] as [SimulationAction.Kind] {
                    let client = generator.below(writerCount)
                    herd.append(SimulationAction(kind: kind, client: client, seed: generator.next()))
                }
                actions.insert(contentsOf: herd, at: generator.below(actions.count + 1))
            }
        }
        if crowds {
            var generator = SeededGenerator(seed: seed ^ 0xC20D)
            for client in 0..<writerCount {
                for _ in 0..<3 {
                    let crowd = SimulationAction(kind: .crowd, client: client, seed: generator.next())
                    actions.insert(crowd, at: generator.below(actions.count / 2 + 1))
                }
            }
        }
        if limits {
            var generator = SeededGenerator(seed: seed ^ 0x11D)
            for _ in 0..<actionCount / 3 {
                let client = options.clientCount - 1 - generator.below(options.limitedClientCount)
                let action = SimulationAction(
                    kind: generator.pick(weighted: weights), client: client, seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        if isRuled {
            var generator = SeededGenerator(seed: seed ^ 0x401E5)
            for _ in 0..<actionCount / 6 {
                let action = SimulationAction(
                    kind: generator.pick(weighted: SimulationAction.ruledWeights),
                    client: generator.below(options.clientCount), seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        // Nor this: in some seeds without rules the server's user has code of its own.
        if seed % 6 == 4 {
            options.hasBackend = true
            self.options = options
            var generator = SeededGenerator(seed: seed ^ 0xBAC)
            for _ in 0..<actionCount / 8 {
                let action = SimulationAction(kind: .serverWrite, client: 0, seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        // Nor this: in some seeds without rules backups of the server are put back. Not where programs have several
        // versions: a server whose schema went back rejects writes that need what it has lost and their author has not
        // declared. Nor where somebody only reads, and asks for a class before it is declared again.
        if seed % 7 == 5, !isRuled, !options.hasBackend, !evolves, !limits {
            options.usesFiles = true
            options.putsBackupsBack = true
            // Of what the server has lost it is not known what it would have rejected.
            options.operationCountMax = 100_000
            self.options = options
            var generator = SeededGenerator(seed: seed ^ 0xBACC)
            for _ in 0..<generator.pick([1, 2, 4]) {
                let place = generator.below(actions.count + 1)
                let later = place + 1 + generator.below(actions.count - place + 1)
                actions.insert(SimulationAction(kind: .backUp, client: 0, seed: generator.next()), at: place)
                actions.insert(SimulationAction(kind: .putBack, client: 0, seed: generator.next()), at: later)
            }
        }
        // Nor this: in most of the seeds that remain the server is two or three processes. Not where a herd comes to the
        // same query: at one node it shares more.
        let hasNodes = seed / 3 % 4 < 2 || seed % 12 == 8
        let sharesAll = Self.hasNodesWithRules(seed) && (isRuled || options.hasBackend)
        if hasNodes && !isRuled && !options.hasBackend || sharesAll, !gathers, !options.putsBackupsBack {
            options.nodeCount = seed % 2 == 0 ? 2 : 3
            Self.disturbJournal(&actions, &options, seed: seed, evolves: evolves)
            self.options = options
            if isRuled { Self.insertLags(into: &actions, seed: seed, options) }
        }
        if options.hasGenerousRules {
            var generator = SeededGenerator(seed: seed ^ 0x6E4E)
            for _ in 0..<6 {
                // Clients that are logged in have what they may read, and then rights or objects change.
                var kinds: [SimulationAction.Kind] = [.logIn, .logIn, .logIn, .plugIn, .plugIn, .gatherClasses]
                kinds += [.deliverMuch, .deliverMuch, .deliverMuch, .deliverMuch]
                kinds += generator.pick([[.deploy], [.changeClaims, .logIn], [.write, .write, .write]])
                kinds += [.deliverMuch, .deliverMuch]
                let herd = kinds.map {
                    SimulationAction(kind: $0, client: generator.below(options.clientCount), seed: generator.next())
                }
                actions.insert(contentsOf: herd, at: generator.below(actions.count + 1))
            }
        }
        if evolves {
            var generator = SeededGenerator(seed: seed ^ 0xE701)
            for _ in 0..<generator.pick([1, 2, 3, 5]) {
                let action = SimulationAction(
                    kind: .evolve, client: generator.below(options.clientCount), seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        // Nor this: in some seeds queries depend on the time.
        if seed % 9 == 2 || seed % 9 == 7 {
            options.readsTime = true
            self.options = options
            var generator = SeededGenerator(seed: seed ^ 0x71E)
            for _ in 0..<actionCount / 6 {
                let action = SimulationAction(kind: .passTime, client: 0, seed: generator.next())
                actions.insert(action, at: generator.below(actions.count + 1))
            }
        }
        if Self.hasJobs(seed), !isRuled {
            Self.trouble(&options, seed: seed)
            self.options = options
            Self.insertJobs(into: &actions, seed: seed)
        }
        if Self.interrupts(seed) {
            Self.insertInterruptions(into: &actions, seed: seed, options, writerCount: writerCount)
        }
        self.actions = actions
    }
}
