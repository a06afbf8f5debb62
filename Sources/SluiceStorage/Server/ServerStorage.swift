/// One database of a server.
package protocol ServerStorage: JournaledStorage, ClientRecords, StorageUpkeep, TrialStorage {}
