package import SluiceModel

/// What a transaction of the server's own process does.
package struct OwnTransaction<Result> {
    package let result: Result
    package let operations: [ObjectOperation]
    /// Changes of records of jobs, which must all count, or nothing of the transaction does.
    package let jobs: [JobWrite]

    package init(_ result: Result, _ operations: [ObjectOperation], _ jobs: [JobWrite] = []) {
        self.result = result
        self.operations = operations
        self.jobs = jobs
    }
}
