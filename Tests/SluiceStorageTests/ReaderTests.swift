import Glibc
import SluiceModel
import SluiceQuery
import SluiceStorage
import Synchronization
import Testing

struct ReaderTests {
    @Test(arguments: [true, false])
    func readerSeesTheLastCommitWhileTheWriterWrites(isInMemory: Bool) throws {
        let folder = try TemporaryFolder()
        let storage = try Garage.client(isInMemory ? .memory : .file(folder.file("store")))
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        let id = try storage.write {
            try storage.insert(Garage.car("B"), ofClass: Garage.car)
            let record = try storage.addSubscription(ClientStoreTests.record("q"))
            let id = record.id
            try storage.addMember(Garage.carRef("A"), role: .root, to: id)
            _ = try storage.merge(Schema([ClassSchema("New", properties: [])]), sides: ("a", "b"))
            try storage.read { reader throws in
                #expect(try reader.count(ofClass: Garage.car) == 1)
                #expect(try reader.row(Garage.carRef("B")) == nil)
                #expect(reader.subscription(toQuery: record.hash) == nil)
                #expect(reader.schema.classes.count == 2)
                #expect(try !reader.isMember(Garage.carRef("A"), of: id, role: nil))
            }
            return id
        }
        try storage.read { reader throws in
            #expect(try reader.row(Garage.carRef("B")) == Garage.car("B"))
            #expect(try reader.isMember(Garage.carRef("A"), of: id, role: .root))
            #expect(reader.schema.classes.count == 3)
        }
    }

    @Test func readerKeepsItsCommitWhateverFollows() throws {
        let folder = try TemporaryFolder()
        let storage = try Garage.client(.file(folder.file("store")))
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        var hashes: Set<ObjectID> = []
        try storage.read { reader throws in
            for number in 0..<40 {
                try storage.write {
                    var record = ClientStoreTests.record("q\(number)")
                    record.hash = ObjectID(high: 7, low: UInt64(number))
                    hashes.insert(try storage.addSubscription(record).hash)
                    try storage.evict(Garage.carRef("A"))
                    try storage.insert(Garage.car("A", price: Int64(number)), ofClass: Garage.car)
                }
            }
            #expect(try reader.row(Garage.carRef("A")) == Garage.car("A"))
            for hash in hashes { #expect(reader.subscription(toQuery: hash) == nil) }
        }
        try storage.read { reader throws in
            #expect(try reader.row(Garage.carRef("A"))?.values[1] == .int(39))
            #expect(try reader.findObject(Identity(className: "Car", key: .string("A")).objectID) == Garage.carRef("A"))
            #expect(hashes.count == 40)
            for hash in hashes { #expect(reader.subscription(toQuery: hash) != nil) }
        }
    }

    @Test func storeInMemoryRefusesToCommitWhileItsThreadReads() throws {
        let storage = try Garage.client()
        try storage.read { reader throws in
            let error = #expect(throws: StorageError.self) {
                try storage.write {
                    try storage.insert(Garage.car("A"), ofClass: Garage.car)
                    guard try reader.count(ofClass: Garage.car) == 0 else { throw StorageError(.io, "it is seen") }
                }
            }
            #expect(error?.code == .misuse)
        }
        try storage.write { try storage.insert(Garage.car("B"), ofClass: Garage.car) }
        #expect(try storage.read { try $0.count(ofClass: Garage.car) } == 1)
    }

    /// Writes more pages than the writer's cache may hold.
    @Test func storeInMemoryIsReadBesideALargeTransaction() throws {
        let storage = try Garage.client()
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        try storage.write {
            for number in 0..<400 {
                let name = String(repeating: "x", count: 100_000) + String(number)
                try storage.insert(Garage.car(name), ofClass: Garage.car)
            }
            #expect(try storage.read { try $0.count(ofClass: Garage.car) } == 1)
        }
        #expect(try storage.read { try $0.count(ofClass: Garage.car) } == 401)
    }

    @Test func storesInMemoryAreApart() throws {
        let first = try Garage.client()
        let second = try Garage.client()
        try first.write { try first.insert(Garage.car("A"), ofClass: Garage.car) }
        #expect(try second.count(ofClass: Garage.car) == 0)
    }

    /// Every commit moves one unit between two cars, and both cars into or out of a membership. No reader may see half
    /// of a commit.
    @Test(arguments: [true, false])
    func concurrentReadersSeeWholeCommits(isInMemory: Bool) throws {
        let folder = try TemporaryFolder()
        let storage = try Garage.client(isInMemory ? .memory : .file(folder.file("store")))
        let id = try storage.write {
            try storage.insert(Garage.car("A", price: 100), ofClass: Garage.car)
            try storage.insert(Garage.car("B", price: 0), ofClass: Garage.car)
            return try storage.addSubscription(ClientStoreTests.record("q")).id
        }
        let isDone = Atomic(false)
        let problems = Mutex<[String]>([])
        let readCount = Atomic(0)
        try withThreads(3) {
            while !isDone.load(ordering: .relaxed) {
                do {
                    try storage.read { reader throws in
                        var prices: [Int64] = []
                        for name in ["A", "B"] {
                            guard case .int(let price)? = try reader.row(Garage.carRef(name))?.values[1] else {
                                continue
                            }
                            prices.append(price)
                        }
                        let memberCount = reader.memberCount(of: id, role: .root)
                        let isSound = prices.count == 2 && prices[0] + prices[1] == 100
                        if !isSound || memberCount != (prices[1] % 2 == 1 ? 2 : 0) {
                            problems.withLock { $0.append("\(prices), \(memberCount) members") }
                        }
                    }
                    readCount.wrappingAdd(1, ordering: .relaxed)
                } catch {
                    problems.withLock { $0.append("\(error)") }
                }
            }
        } while: {
            defer { isDone.store(true, ordering: .relaxed) }
            for price in 1...100 as ClosedRange<Int64> {
                try storage.write {
                    try storage.update(Garage.car("A", price: 100 - price), ofClass: Garage.car, changed: [1])
                    try storage.update(Garage.car("B", price: price), ofClass: Garage.car, changed: [1])
                    for name in ["A", "B"] {
                        if price % 2 == 1 {
                            try storage.addMember(Garage.carRef(name), role: .root, to: id)
                        } else {
                            try storage.removeMember(Garage.carRef(name), role: .root, from: id)
                        }
                    }
                }
            }
            // A loaded machine may not have run any reader yet.
            while readCount.load(ordering: .relaxed) == 0, problems.withLock({ $0.isEmpty }) { sched_yield() }
        }
        #expect(problems.withLock { $0 } == [])
        #expect(readCount.load(ordering: .relaxed) > 0)
    }

    /// Runs `work` on several threads beside `body`, and waits for them.
    private func withThreads(_ count: Int, _ work: @escaping @Sendable () -> Void, while body: () throws -> Void) throws
    {
        final class Box: Sendable {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        var threads: [pthread_t] = []
        for _ in 0..<count {
            var thread = pthread_t()
            let box = Unmanaged.passRetained(Box(work)).toOpaque()
            pthread_create(
                &thread, nil,
                { context in
                    Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().work()
                    return nil
                }, box)
            threads.append(thread)
        }
        defer { for thread in threads { pthread_join(thread, nil) } }
        try body()
    }
}
