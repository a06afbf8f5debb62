import Sluice
import SluiceQuery
import Testing

@testable import SluiceCLI

/// Which exit code an error has, whichever command it ends.
struct CommandErrorTests {
    @Test(
        arguments: [
            (.syntax, 64), (.typeMismatch, 64), (.unsupported, 64), (.limitExceeded, 64), (.missingArgument, 64),
            (.invalidExclusion, 64), (.repeatedSortKey, 64), (.unknownClass, 1), (.unknownProperty, 1),
        ] as [(QueryError.Code, Int32)])
    func `a query that is wrong as it was written is wrong usage`(code: QueryError.Code, exitCode: Int32) {
        let error = CommandError(QueryError(code, "no", at: 3))
        #expect(error.kind.rawValue == exitCode && error.message == "query, at byte 3: no")
    }

    @Test func `what others have done is none`() {
        #expect(CommandError(SyncError(.invalidQuery, "too many results")).kind == .failure)
        #expect(CommandError(SyncError(.notPermitted, "hidden")).kind == .failure)
        #expect(CommandError(JobError(.nameHeld, "at work")).kind == .tryAgain)
        let taken = CommandError(JobError(.nameTaken, "remove the consumer first"))
        #expect(
            taken.kind == .failure && taken.message.hasSuffix("first: 'sluice consumers URL --remove=NAME' does that"))
        #expect(CommandError(JobError(.invalidName, "a/b")).kind == .usage)
        #expect(CommandError(CommandError.unfinished("2 rows")).kind == .unfinished)
    }
}
