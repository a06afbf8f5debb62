extension Task where Failure == Never {
    /// Begins a task that runs where the calling task runs, and is not cancelled with it.
    static func alongside(_ operation: @escaping @Sendable () async -> Success) -> Task {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        return Task(executorPreference: executor, operation: operation)
    }
}
