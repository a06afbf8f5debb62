internal import Dispatch
package import Testing

/// Runs each case of a test on a thread of its own. It is for tests that compute for more than about a second without
/// waiting: on the few threads of Swift's cooperative pool they would hold up all tests that wait for each other's
/// events.
package struct OwnThread: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    /// Runs each case of the test, or of all tests of the suite, on a thread of its own.
    package static var ownThread: OwnThread { OwnThread() }
}

/// Runs what a task and its children compute, one after the other, on a thread outside Swift's cooperative pool.
package final class ThreadExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "sluice.test.thread")

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
