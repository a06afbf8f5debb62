internal import Sluice

/// What an error of any module says of the call of a command: the one place that decides which exit code it has.
///
/// A call is wrong, and has the exit code 64, if the words of the call alone, beside the declared classes, say so: the
/// query, a value for it, or options that contradict it. What depends on what a database, a server or a file has at the
/// moment is a failure: a class that is not there, rows that are too many, what the rules refuse.
extension CommandError {
    /// The diagnostic and exit code for an error of any module.
    init(_ error: any Error) {
        self =
            switch error {
            case let error as CommandError: error
            case let error as QueryError where error.code.isOfCall: .usage(error.description)
            case let error as JobError where error.code == .nameHeld: .tryAgain(error.message)
            case let error as JobError where error.code == .nameTaken:
                .failure("\(error.message): 'sluice consumers URL --remove=NAME' does that")
            case let error as JobError where error.code == .invalidName: .usage(error.message)
            default: .failure(String(describing: error))
            }
    }
}

extension QueryError.Code {
    /// Whether the query is wrong as it was written. A class or property that is not there may come.
    fileprivate var isOfCall: Bool {
        switch self {
        case .unknownClass, .unknownProperty: false
        default: true
        }
    }
}
