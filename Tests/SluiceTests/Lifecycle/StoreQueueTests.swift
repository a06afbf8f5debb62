import Foundation
import Testing

@testable import Sluice

/// On which thread a store works.
@Suite struct StoreQueueTests {
    @Test func workRunsOnTheCallersThreadWhereNothingElseRuns() {
        let queue = StoreQueue()
        let caller = pthread_self()
        let result = queue.runIfIdle {
            (isCurrent: queue.isCurrent, isHere: pthread_equal(pthread_self(), caller) != 0)
        }
        #expect(result?.isCurrent == true)
        #expect(result?.isHere == true)
        #expect(!queue.isCurrent)
    }

    @Test func workIsLeftToTheQueueThatHasSomethingToDo() async {
        let queue = StoreQueue()
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        queue.async {
            hasBegun.signal()
            mayEnd.wait()
        }
        let whileBusy: Bool? = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                hasBegun.wait()
                continuation.resume(returning: queue.runIfIdle { true })
            }
        }
        #expect(whileBusy == nil)
        mayEnd.signal()
        #expect(queue.sync { true })
        #expect(queue.runIfIdle { queue.runIfIdle { true } == nil } == true, "it is not idle while it runs something")
    }

    @Test func oneThreadAtATimeWorks() async {
        let queue = StoreQueue()
        let counter = Counter()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<2_000 {
                        switch (task + number) % 3 {
                        case 0: queue.sync { counter.add() }
                        case 1: if queue.runIfIdle({ counter.add() }) == nil { queue.async { counter.add() } }
                        default: queue.async { counter.add() }
                        }
                    }
                }
            }
        }
        #expect(queue.sync { counter.count } == 16_000)
    }

    /// Sound because one thread at a time uses it, which is what is tested.
    private final class Counter: @unchecked Sendable {
        private(set) var count = 0

        func add() { count += 1 }
    }

    @Test @MainActor func aWriteDoesNotHoldTheThreadOfAnActor() async throws {
        var configuration = StoreConfiguration(models: [])
        configuration.location = .memory(name: UUID().uuidString)
        let store = try await Store.open(configuration)
        let caller = pthread_self()
        let isHere = try await store.write { _ in pthread_equal(pthread_self(), caller) != 0 }
        #expect(!isHere)
        await store.close()
    }
}
