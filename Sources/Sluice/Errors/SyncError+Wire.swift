package import SluiceWire

extension SyncError.Code {
    package init(_ code: ErrorCode) {
        self =
            switch code {
            case .invalidQuery: .invalidQuery
            case .unknownName: .unknownName
            case .incompatibleSchema, .schemaChanged: .schema
            case .clientReset: .resetRequired
            case .unknownDatabase: .unknownDatabase
            case .inUse: .inUse
            case .invalidRules: .invalidRules
            case .unknownReport: .unknownReport
            case .authenticationFailed, .credentialsExpired: .notAuthenticated
            case .permissionDenied: .notPermitted
            case .protocolViolation, .unsupportedVersion: .protocolViolation
            case .limitExceeded: .limitExceeded
            case .invalidOperation, .writeRefused: .writeRejected
            case .jobConflict: .jobConflict
            case .jobUnfinished: .jobUnfinished
            case .databaseDamaged: .databaseDamaged
            case .internalError, .overloaded, .shuttingDown, .historyChanged: .server
            default: SyncError.Code(description: code.rawValue)
            }
    }
}
