package import SluiceModel

/// What a transaction of the server's own process does.
package struct OwnTransaction<Result> {
    package let result: Result
    package let operations: [ObjectOperation]
    /// What becomes of the records of jobs, in the same transaction.
    package let jobs: [JobChange]

    package init(_ result: Result, _ operations: [ObjectOperation], _ jobs: [JobChange] = []) {
        self.result = result
        self.operations = operations
        self.jobs = jobs
    }
}
