/// The settings of a ``StoreConfiguration``, and what each of them does when somebody opens a store that is open
/// already.
///
/// Tests compare the cases with the configuration's stored properties, so that a new setting must decide.
enum StoreSetting: String, CaseIterable {
    case location, models, schema, sync, startsSyncing, durability, purgesWhenTokenIsReleased, purgesRevokedObjects
    case keepsRevokedObject, rejectedWrites, clientReset, cacheLimits, log, metrics, environment

    /// What a setting does where the store is open already.
    enum Effect {
        /// It says which store is meant.
        case identifies
        /// What it has and the store has not is added.
        case adds
        /// Unless it is nil, it takes the place of what the store has.
        case replaces
        /// It must be what the store has. Opening throws otherwise.
        case mustAgree
        /// It has an effect only where the store is not open yet.
        case onlyOpens
    }

    var effect: Effect {
        switch self {
        case .location: .identifies
        case .models, .schema: .adds
        case .keepsRevokedObject, .log, .metrics: .replaces
        // The functions of a reset replace, and the rest must agree.
        case .sync, .durability, .purgesWhenTokenIsReleased, .purgesRevokedObjects, .rejectedWrites, .clientReset,
            .cacheLimits:
            .mustAgree
        case .startsSyncing, .environment: .onlyOpens
        }
    }

    /// The names of the settings that must agree and do not.
    static func conflicts(_ open: StoreConfiguration, _ new: StoreConfiguration) -> [String] {
        allCases.filter { $0.effect == .mustAgree }.flatMap { $0.conflicts(open, new) }
    }

    private func conflicts(_ open: StoreConfiguration, _ new: StoreConfiguration) -> [String] {
        func names(_ pairs: (name: String, agrees: Bool)...) -> [String] {
            pairs.filter { !$0.agrees }.map { $0.name.isEmpty ? rawValue : "\(rawValue).\($0.name)" }
        }
        switch self {
        case .sync:
            guard let mine = open.sync, let others = new.sync else {
                return names(("", open.sync == new.sync))
            }
            return SyncSetting.allCases.filter { !$0.agrees(mine, others) }.map { "\(rawValue).\($0.rawValue)" }
        case .durability:
            // It has no effect in memory.
            if case .memory = open.location { return [] }
            return names(("", open.durability == new.durability))
        case .purgesWhenTokenIsReleased:
            return names(("", open.purgesWhenTokenIsReleased == new.purgesWhenTokenIsReleased))
        case .purgesRevokedObjects: return names(("", open.purgesRevokedObjects == new.purgesRevokedObjects))
        case .rejectedWrites: return names(("", open.rejectedWrites == new.rejectedWrites))
        case .clientReset:
            return names(
                ("mode", open.clientReset.mode == new.clientReset.mode),
                ("keepsBackup", open.clientReset.keepsBackup == new.clientReset.keepsBackup))
        case .cacheLimits: return names(("", open.cacheLimits == new.cacheLimits))
        case .location, .models, .schema, .startsSyncing, .keepsRevokedObject, .log, .metrics, .environment: return []
        }
    }
}

/// The settings of a ``SyncConfiguration``. All of them must agree where a store is open already.
enum SyncSetting: String, CaseIterable {
    case urls, urlChoice, credentials, variables, access, trust, headers, networkInterface, sharesConnection, loopback
    case connectTimeout, reconnectDelay, reconnectDelayMax, attemptCountMax, cancelsWaitsOnNonFatalErrors, heartbeat
    case wishes, trustSetting

    func agrees(_ open: SyncConfiguration, _ new: SyncConfiguration) -> Bool {
        switch self {
        case .urls: open.urls == new.urls
        case .urlChoice: open.urlChoice == new.urlChoice
        case .credentials: open.credentials == new.credentials
        case .variables: open.variables == new.variables
        case .access: open.access == new.access
        case .trust: open.trust == new.trust
        case .headers: open.headers == new.headers
        case .networkInterface: open.networkInterface == new.networkInterface
        case .sharesConnection: open.sharesConnection == new.sharesConnection
        case .loopback: open.loopback == new.loopback
        case .connectTimeout: open.connectTimeout == new.connectTimeout
        case .reconnectDelay: open.reconnectDelay == new.reconnectDelay
        case .reconnectDelayMax: open.reconnectDelayMax == new.reconnectDelayMax
        case .attemptCountMax: open.attemptCountMax == new.attemptCountMax
        case .cancelsWaitsOnNonFatalErrors: open.cancelsWaitsOnNonFatalErrors == new.cancelsWaitsOnNonFatalErrors
        case .heartbeat: open.heartbeat == new.heartbeat
        case .wishes: open.wishes == new.wishes
        case .trustSetting: open.trustSetting == new.trustSetting
        }
    }
}
