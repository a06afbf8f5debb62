internal import SluiceWire

extension SyncError.Code {
    init(_ code: ErrorCode) {
        self =
            switch code {
            case .invalidQuery: .invalidQuery
            case .unknownName: .unknownName
            case .incompatibleSchema: .schema
            case .authenticationFailed, .credentialsExpired: .notAuthenticated
            case .permissionDenied: .notPermitted
            case .protocolViolation, .unsupportedVersion: .protocolViolation
            case .limitExceeded: .limitExceeded
            case .invalidOperation, .writeRefused: .writeRejected
            case .databaseDamaged: .databaseDamaged
            case .internalError, .overloaded, .shuttingDown: .server
            default: SyncError.Code(description: code.rawValue)
            }
    }
}
